#include "dsl/c99/fused.h"

#include <set>
#include <utility>

#include "dsl/ascend/algorithm.h"
#include "dsl/fix_scalars.h"
#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

using namespace Halide;

// Returns a name that isn't in `used`, and adds it.
std::string free_name(const std::string &name, std::set<std::string> &used) {
    std::string free = name;
    for (int n = 2; !used.insert(free).second; n++)
        free = name + std::to_string(n);
    return free;
}

// Returns "weight[weight_0,weight_1]" for a tensor of this rank.
std::string tensor_text(const std::string &name, size_t rank) {
    std::string extents;
    for (size_t d = 0; d < rank; d++)
        extents += (d ? "," : "") + name + "_" + std::to_string(d);
    return name + "[" + extents + "]";
}

std::string signature_of(const std::vector<FusedStep> &steps) {
    std::set<std::string> used;
    std::string text;
    for (const FusedStep &s : steps) {
        for (size_t k = 0; k < s.takes_result.size(); k++) {
            if (s.takes_result[k]) continue;
            const std::string name = free_name(s.op->sig.inputs[k].name, used);
            text += tensor_text(name, s.call.inputs[k].size()) + " ";
        }
    }
    const std::string result = free_name(steps.back().op->sig.outputs[0].name, used);
    return text + "-> " + tensor_text(result, steps.back().call.outputs[0].size());
}

std::string name_of(const std::vector<FusedStep> &steps) {
    std::string name;
    for (const FusedStep &s : steps)
        name += (name.empty() ? "" : "_") + s.op->name;
    return name;
}

class FusedOp : public Op {
public:
    explicit FusedOp(std::vector<FusedStep> steps)
        : Op(name_of(steps), signature_of(steps)), steps_(std::move(steps)) {
        for (const TensorSpec &t : sig.inputs)
            input(t.name);
        for (FusedStep &s : steps_)
            s.op->declare_all_tensors();
        out.push_back(steps_.back().op->out[0]);
    }

    void algorithm(const Build &build) override {
        size_t next = 0;
        Func result;
        for (FusedStep &s : steps_) {
            if (s.op->form == Form::elementwise) s.op->any_rank = int(s.call.outputs[0].size());
            for (size_t k = 0; k < s.takes_result.size(); k++) {
                const Func from = s.takes_result[k] ? result : in[next++];
                s.op->bind_input(k, from, extents_of_layout(s.call.inputs[k]));
            }
            define_step(s, build);
            result = s.op->out[0];
        }
    }

    void reference(Problem &) const override {
        throw Error(name, "a fused call has no reference; its steps have");
    }

private:
    std::vector<FusedStep> steps_;

    static Extents extents_of_layout(const FixedCall::Layout &layout) {
        Extents extents;
        for (const FixedCall::Dim &d : layout)
            extents.emplace_back(d.extent);
        return extents;
    }

    // Names of scalars may be those of another step's, so they are replaced step by step.
    static void define_step(const FusedStep &s, Build build) {
        build.variant = s.variant.empty() ? ascend::algorithm_for(*s.op, build.lanes, s.call)
                                          : s.variant;
        s.op->define(build);
        std::map<std::string, int> integers;
        for (size_t k = 0; k < s.op->scalars.size(); k++)
            if (!s.op->scalars[k].real) integers[s.op->scalars[k].name] = s.call.integers[k];
        fix_scalars(s.op->out, integers, s.reals);
    }
};

}  // namespace

OpPtr fused_op(std::vector<FusedStep> steps) {
    return std::make_unique<FusedOp>(std::move(steps));
}

FixedCall fixed_call_of(const std::vector<FusedStep> &steps) {
    FixedCall call;
    for (const FusedStep &s : steps) {
        for (size_t k = 0; k < s.takes_result.size(); k++)
            if (!s.takes_result[k]) call.inputs.push_back(s.call.inputs[k]);
    }
    call.outputs = {steps.back().call.outputs[0]};
    return call;
}

}  // namespace halyard::c99
