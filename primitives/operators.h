// Operators of tensors: `out = out + identity`, `dy * (1 - y)`, `x < 0`. Each runs the primitive in
// its comment as F:: does: shapes are broadcast, dtypes are promoted, and a tape records the call.
// Argument-dependent lookup finds them; the headers of primitives/ops/ include this file.
//
// Comparisons return bool tensors, `==` and `!=` too: Tensor::same_memory() compares handles.
#pragma once
#include "primitives/argument.h"

namespace halyard {

Tensor operator+(const Argument &a, const Argument &b);   // add
Tensor operator-(const Argument &a, const Argument &b);   // sub
Tensor operator*(const Argument &a, const Argument &b);   // mul
Tensor operator/(const Argument &a, const Argument &b);   // div
Tensor operator-(const Tensor &a);                        // neg
Tensor operator==(const Argument &a, const Argument &b);  // equal
Tensor operator!=(const Argument &a, const Argument &b);  // not_equal
Tensor operator<(const Argument &a, const Argument &b);   // less
Tensor operator<=(const Argument &a, const Argument &b);  // less_equal
Tensor operator>(const Argument &a, const Argument &b);   // greater
Tensor operator>=(const Argument &a, const Argument &b);  // greater_equal

}  // namespace halyard
