#include "bench/harness/variadic_ops.h"

#include "dsl/dtypes.h"
#include "primitives/composites/concat.h"
#include "primitives/composites/einsum.h"
#include "primitives/composites/updates.h"

namespace halyard::bench {
namespace {

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

}  // namespace

const std::vector<VariadicOp> &variadic_ops() {
    static const std::vector<VariadicOp> all = {
        {record("broadcast_tensors", "x[*] ... -> y[*] ...",
                "every x as large as all of them broadcast to", {}),
         [](std::span<const Tensor> in, const Attrs &) {
             return F::broadcast_tensors({in.begin(), in.end()});
         }},
        {record(
             "clip_by_global_norm", "x[*] ... -> y[*] ...",
             "y_k = x_k clip_norm / max(N, clip_norm), N the 2-norm of all elements of all tensors",
             {{"clip_norm", AttrKind::real, "1", {}, {}, false}}, {"f32", "f16", "bf16", "f64"},
             {Contract::normwise, 16}),
         [](std::span<const Tensor> in, const Attrs &a) {
             return F::clip_by_global_norm({in.begin(), in.end()}, a.real(0));
         }},
        {record("concat", "x[*] ... -> y[*]",
                "tensors joined along `axis`; they agree in every other extent", {axis}),
         [](std::span<const Tensor> in, const Attrs &a) {
             return std::vector{F::concat({in.begin(), in.end()}, int(a.integer(0)))};
         }},
        {record("einsum", "x[*] ... -> y[*]",
                "sums of products over named axes, as in NumPy: \"ij,jk->ik\" is a matrix product; "
                "a letter twice in one x takes its diagonal, \"...\" "
                "stands for leading axes that broadcast, and without \"->\" y has the letters that "
                "occur once, in alphabetical order",
                {{"equation", AttrKind::text, "!", {}, {}, false}},
                {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"}, {Contract::products, 16}),
         [](std::span<const Tensor> in, const Attrs &a) {
             return std::vector{F::einsum(a.words(0), {in.begin(), in.end()})};
         }},
        {record(
             "meshgrid", "x[n] ... -> y[*] ...",
             "y k varies with x k along dimension k alone; xy exchanges the first two dimensions",
             {{"indexing", AttrKind::choice, "xy", {"xy", "ij"}, {}, false}}),
         [](std::span<const Tensor> in, const Attrs &a) {
             return F::meshgrid({in.begin(), in.end()}, a.integer(0) ? "ij" : "xy");
         }},
        {record("split", "x[*] -> y[*] ...", "output_num equal parts of x along `axis`",
                {axis, {"output_num", AttrKind::integer, "1", {}, {}, false}}),
         [](std::span<const Tensor> in, const Attrs &a) {
             if (in.size() != 1) {
                 throw ShapeError("split",
                                  "got " + std::to_string(in.size()) + " inputs, expected 1");
             }
             return F::split(in[0], int(a.integer(0)), int(a.integer(1)));
         }},
        {record("stack", "x[*] ... -> y[*]", "tensors of one shape joined along a new `axis`",
                {axis}),
         [](std::span<const Tensor> in, const Attrs &a) {
             return std::vector{F::stack({in.begin(), in.end()}, int(a.integer(0)))};
         }},
        {record("unstack", "x[*] -> y[*] ...",
                "the tensors that stack would join to x along `axis`", {axis}),
         [](std::span<const Tensor> in, const Attrs &a) {
             if (in.size() != 1) {
                 throw ShapeError("unstack",
                                  "got " + std::to_string(in.size()) + " inputs, expected 1");
             }
             return F::unstack(in[0], int(a.integer(0)));
         }},
    };
    return all;
}

const VariadicOp *variadic_op(const std::string &name) {
    for (auto &op : variadic_ops())
        if (op.record.name == name) return &op;
    return nullptr;
}

}  // namespace halyard::bench
