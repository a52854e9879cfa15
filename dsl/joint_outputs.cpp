#include "dsl/joint_outputs.h"

namespace halyard {
using Halide::Expr;
using Halide::Func;

Func joint_outputs(const std::vector<Func> &outputs) {
    const std::vector<Halide::Var> args = outputs[0].args();
    const std::vector<Expr> at(args.begin(), args.end());
    std::vector<Expr> values;
    for (const Func &f : outputs)
        values.push_back(f(at));
    Func joint("outputs");
    joint(args) = Halide::Tuple(values);
    return joint;
}

Func joint_outputs_of_threads(const std::vector<Func> &outputs) {
    const std::vector<Halide::Var> args = outputs[0].args();
    const std::vector<Expr> at(args.begin(), args.end());
    std::vector<Expr> computed, stored;
    for (const Func &f : outputs)
        computed.push_back(f(at));
    Func registers("registers"), joint("outputs");
    registers(args) = Halide::Tuple(computed);
    for (size_t k = 0; k < outputs.size(); k++)
        stored.push_back(registers(at)[int(k)]);
    joint(args) = Halide::Tuple(stored);
    registers.compute_at(joint, gpu_thread);
    return joint;
}

Func joint_outputs_of_lanes(const std::vector<Func> &outputs) {
    Func joint = joint_outputs(outputs);
    for (Func f : outputs)
        f.compute_at(joint, vector_lane);
    return joint;
}

}  // namespace halyard
