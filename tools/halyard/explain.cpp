// halyard explain: which kernel a call gets, and what refused the others.
#include <cstdio>

#include "tools/halyard/call.h"
#include "tools/halyard/command.h"
#include "tools/halyard/trial.h"

namespace halyard::command {
namespace {

struct Options {
    std::string op, dtype, device, isa, variant;
    std::vector<std::string> shapes, attrs;
};

int explain_call(const Options &o) {
    const RegisteredOp &op = op_with_kernels(o.op);
    check_variant(op.record, o.variant);
    const Target target(o.device, o.isa, o.variant);
    if (o.shapes.empty()) {
        const auto problems = problems_of(op.record);
        if (problems.empty()) throw AttrError(o.op, "has no bench or sample problem, give --shape");
        const Trial t(op, problems[0], o.dtype, o.attrs);
        std::printf("%s", explain(op, t.in, t.attrs).c_str());
        return 0;
    }
    const auto &specs = op.signature.inputs;
    const auto shapes = by_tensor(o.op, "input", specs, o.shapes);
    const auto dtypes = dtypes_from(op, o.dtype);
    std::vector<Tensor> in;
    for (size_t k = 0; k < specs.size(); k++) {
        if (!shapes[k]) throw ShapeError(o.op, "no shape for input " + specs[k].name + ": --shape " + specs[k].name + "=2x3 (" + op.record.signature + ")");
        in.push_back(Tensor::zeros(shape_from(o.op, *shapes[k]), dtypes[k]));
    }
    std::printf("%s", explain(op, in, attrs_from(op.record, o.attrs)).c_str());
    return 0;
}

}  // namespace

void add_explain(CLI::App &app, Run &chosen) {
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand("explain", "Say which kernel a call gets and why");
    sub->add_option("op", o->op, "Name of the op")->required();
    sub->add_option("--shape,-s", o->shapes, "x=2x3x8x8 (or scalar) for every input; without, the op's first bench or sample problem")->allow_extra_args(false);
    sub->add_option("--attr,-a", o->attrs, "Attribute: axis=1")->allow_extra_args(false);
    sub->add_option("--dtype", o->dtype, "f32, f16, ... (f32,i32 where the op has two)");
    sub->add_option("--device", o->device, "cpu or opencl");
    sub->add_option("--isa", o->isa, "Only kernels of this level: baseline, avx2, avx512");
    sub->add_option("--variant", o->variant, "Only kernels of this variant");
    sub->callback([o, &chosen] { chosen = [o] { return explain_call(*o); }; });
}

}  // namespace halyard::command
