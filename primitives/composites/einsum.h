// Sums of products over named axes: einsum, and the contraction of two tensors.
#pragma once
#include <string>
#include <vector>

#include "primitives/primitive.h"

namespace halyard {

using Labels = std::vector<int>;  // one per axis; axes of one label have one extent, or 1

// Returns a tensor of `out`'s axes: products of a's and b's elements, summed over the labels that
// `out` lacks. No label is twice in one list. Floats are computed by one matmul, of views if
// strides permit; integers by a product and a sum. Throws ShapeError naming `op`.
Tensor contracted(const std::string &op, const Tensor &a, const Labels &a_axes, const Tensor &b,
                  const Labels &b_axes, const Labels &out);

namespace F {
// Einstein's convention, as NumPy has it: "bij,bjk->bik". A letter per axis, "..." for any number
// of leading ones, which broadcast; a letter twice in one operand takes its diagonal; without "->"
// the letters that occur once, in alphabetical order. Operands are contracted two at a time, those
// first whose result is smallest. Throws AttrError for an equation that doesn't parse or fit the
// operands, ShapeError for extents that disagree, DTypeError.
Tensor einsum(const std::string &equation, const std::vector<Tensor> &operands);
}  // namespace F

namespace ops {
struct Einsum {
    std::string equation;
    Tensor operator()(const std::vector<Tensor> &operands) const {
        return F::einsum(equation, operands);
    }
};
}  // namespace ops

}  // namespace halyard
