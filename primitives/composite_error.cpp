#include "primitives/composite_error.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "primitives/facts.h"
#include "registry/base/text.h"
#include "registry/op/signature.h"

namespace halyard {
namespace {

// Returns "weight is i32, expected f32 like x" if two inputs of one type differ, or one has not the
// dtype of the signature; "" if there is nothing of that kind.
std::string contradicting_dtypes(const RegisteredOp &op, std::span<const Tensor> in) {
    std::map<std::string, size_t> first;  // by type variable
    for (size_t k = 0; k < in.size(); k++) {
        if (!in[k].defined()) continue;
        const TensorSpec &spec = op.signature.inputs[k];
        const std::string own = spec.name + " is " + name_of(in[k].dtype()) + ", expected ";
        if (!is_type_variable(spec.dtype)) {
            if (in[k].dtype() != dtype_of(spec.dtype)) return own + spec.dtype;
            continue;
        }
        const size_t like = first.emplace(spec.dtype, k).first->second;
        if (in[like].dtype() != in[k].dtype())
            return own + name_of(in[like].dtype()) + " like " + op.signature.inputs[like].name;
    }
    return "";
}

// Returns "no kernels for i32, there are f32 f16" if the composite does not take the dtype of its
// first input.
std::string unknown_dtype(const RegisteredOp &op, std::span<const Tensor> in) {
    if (in.empty() || !in[0].defined() || !is_type_variable(op.signature.inputs[0].dtype))
        return "";
    const std::string dtype = name_of(in[0].dtype());
    const bool known = std::ranges::any_of(op.record.dtypes, [&](const std::string &set) {
        return set.substr(0, set.find(',')) == dtype;
    });
    return known ? "" : "no kernels for " + dtype + ", there are " + join(op.record.dtypes, " ");
}

// Returns what the composite's signature and conditions reject; "" if they accept the inputs.
std::string contradicting_shapes(std::span<const Tensor> in, const Attrs &attrs) {
    if (!std::ranges::all_of(in, [](const Tensor &t) { return t.defined(); })) return "";
    try {
        facts_of(in, attrs);
    } catch (const Error &e) {
        return e.detail();
    }
    return "";
}

}  // namespace

std::string detail_for_caller(const RegisteredOp &op, std::span<const Tensor> in,
                              const Attrs &attrs, const Error &inner) {
    static constexpr std::string_view parts_of_any_op[] = {"shape", "tensor", "expand",
                                                           "transpose"};
    const std::string detail = inner.detail();
    if (std::ranges::find(parts_of_any_op, inner.op()) != std::end(parts_of_any_op)) return detail;
    if (dynamic_cast<const DTypeError *>(&inner)) {
        for (const std::string &own : {contradicting_dtypes(op, in), unknown_dtype(op, in)})
            if (!own.empty()) return own;
    }
    if (const std::string own = contradicting_shapes(in, attrs); !own.empty()) return own;
    // The two shapes say enough: elementwise ops name no inputs.
    if (detail.ends_with("don't broadcast")) return detail;
    return inner.op() + ": " + detail;
}

}  // namespace halyard
