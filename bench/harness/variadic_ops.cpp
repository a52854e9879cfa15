#include "bench/harness/variadic_ops.h"

#include "dsl/dtypes.h"
#include "primitives/composites/clip.h"
#include "primitives/composites/concat.h"
#include "primitives/composites/einsum.h"

namespace halyard::bench {
namespace {

// Returns the record of a composite op. Ops that only move data are exact in all dtypes.
OpRecord record(const char *name, const char *signature, const char *doc,
                std::vector<AttrSpec> attrs, std::vector<std::string> dtypes = all_dtypes,
                Contract contract = {Contract::elementwise, 0}) {
    OpRecord r;
    r.name = name;
    r.signature = signature;
    r.doc = doc;
    r.attrs = std::move(attrs);
    r.form = Form::composite;
    r.dtypes = std::move(dtypes);
    r.contract = contract;
    return r;
}
const AttrSpec axis{"axis", AttrKind::integer, "0", {}, {}, false};

using Inputs = std::span<const Tensor>;

std::vector<Tensor> listed(Inputs in) {
    return {in.begin(), in.end()};
}

// Returns the tensor of an op that takes one. Throws ShapeError if there are several.
const Tensor &only_input(const char *op, Inputs in) {
    if (in.size() != 1)
        throw ShapeError(op, "got " + std::to_string(in.size()) + " inputs, expected 1");
    return in[0];
}

std::vector<Tensor> run_broadcast_tensors(Inputs in, const Attrs &) {
    return F::broadcast_tensors(listed(in));
}
std::vector<Tensor> run_clip_by_global_norm(Inputs in, const Attrs &a) {
    return F::clip_by_global_norm(listed(in), a.real(0));
}
std::vector<Tensor> run_concat(Inputs in, const Attrs &a) {
    return {F::concat(listed(in), int(a.integer(0)))};
}
std::vector<Tensor> run_einsum(Inputs in, const Attrs &a) {
    return {F::einsum(a.words(0), listed(in))};
}
std::vector<Tensor> run_meshgrid(Inputs in, const Attrs &a) {
    return F::meshgrid(listed(in), a.integer(0) ? "ij" : "xy");
}
std::vector<Tensor> run_split(Inputs in, const Attrs &a) {
    return F::split(only_input("split", in), int(a.integer(0)), int(a.integer(1)));
}
std::vector<Tensor> run_stack(Inputs in, const Attrs &a) {
    return {F::stack(listed(in), int(a.integer(0)))};
}
std::vector<Tensor> run_unstack(Inputs in, const Attrs &a) {
    return F::unstack(only_input("unstack", in), int(a.integer(0)));
}

OpRecord einsum_record() {
    return record(
        "einsum", "x[*] ... -> y[*]",
        "sums of products over named axes, as in NumPy: \"ij,jk->ik\" is a matrix product; "
        "a letter twice in one x takes its diagonal, \"...\" "
        "stands for leading axes that broadcast, and without \"->\" y has the letters that "
        "occur once, in alphabetical order",
        {{"equation", AttrKind::text, AttrSpec::no_default, {}, {}, false}},
        {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"}, {Contract::products, 16});
}

OpRecord clip_by_global_norm_record() {
    return record(
        "clip_by_global_norm", "x[*] ... -> y[*] ...",
        "y_k = x_k clip_norm / max(N, clip_norm), N the 2-norm of all elements of all tensors",
        {{"clip_norm", AttrKind::real, "1", {}, {}, false}}, {"f32", "f16", "bf16", "f64"},
        {Contract::normwise, 16});
}

}  // namespace

const std::vector<VariadicOp> &variadic_ops() {
    static const std::vector<VariadicOp> all = {
        {record("broadcast_tensors", "x[*] ... -> y[*] ...",
                "every x as large as all of them broadcast to", {}),
         "layout", run_broadcast_tensors},
        {clip_by_global_norm_record(), "elementwise", run_clip_by_global_norm},
        {record("concat", "x[*] ... -> y[*]",
                "tensors joined along `axis`; they agree in every other extent", {axis}),
         "layout", run_concat},
        {einsum_record(), "contraction", run_einsum},
        {record(
             "meshgrid", "x[n] ... -> y[*] ...",
             "y k varies with x k along dimension k alone; xy exchanges the first two dimensions",
             {{"indexing", AttrKind::choice, "xy", {"xy", "ij"}, {}, false}}),
         "layout", run_meshgrid},
        {record("split", "x[*] -> y[*] ...", "output_num equal parts of x along `axis`",
                {axis, {"output_num", AttrKind::integer, "1", {}, {}, false}}),
         "layout", run_split},
        {record("stack", "x[*] ... -> y[*]", "tensors of one shape joined along a new `axis`",
                {axis}),
         "layout", run_stack},
        {record("unstack", "x[*] -> y[*] ...",
                "the tensors that stack would join to x along `axis`", {axis}),
         "layout", run_unstack},
    };
    return all;
}

const VariadicOp *variadic_op(const std::string &name) {
    for (auto &op : variadic_ops())
        if (op.record.name == name) return &op;
    return nullptr;
}

}  // namespace halyard::bench
