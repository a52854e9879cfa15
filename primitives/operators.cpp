#include "primitives/operators.h"

#include "primitives/ops/binary.h"
#include "primitives/ops/unary.h"

namespace halyard {

Tensor operator+(const Argument &a, const Argument &b) {
    return F::add(a, b);
}
Tensor operator-(const Argument &a, const Argument &b) {
    return F::sub(a, b);
}
Tensor operator*(const Argument &a, const Argument &b) {
    return F::mul(a, b);
}
Tensor operator/(const Argument &a, const Argument &b) {
    return F::div(a, b);
}
Tensor operator-(const Tensor &a) {
    return F::neg(a);
}
Tensor operator==(const Argument &a, const Argument &b) {
    return F::equal(a, b);
}
Tensor operator!=(const Argument &a, const Argument &b) {
    return F::not_equal(a, b);
}
Tensor operator<(const Argument &a, const Argument &b) {
    return F::less(a, b);
}
Tensor operator<=(const Argument &a, const Argument &b) {
    return F::less_equal(a, b);
}
Tensor operator>(const Argument &a, const Argument &b) {
    return F::greater(a, b);
}
Tensor operator>=(const Argument &a, const Argument &b) {
    return F::greater_equal(a, b);
}

}  // namespace halyard
