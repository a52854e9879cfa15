#include "primitives/operators.h"

#include "primitives/primitive.h"

namespace halyard {
namespace {

Tensor binary(const Primitive &op, const Argument &a, const Argument &b) {
    return std::move(op.run_promoted({a, b})[0]);
}

}  // namespace

Tensor operator+(const Argument &a, const Argument &b) {
    static const Primitive op("add");
    return binary(op, a, b);
}
Tensor operator-(const Argument &a, const Argument &b) {
    static const Primitive op("sub");
    return binary(op, a, b);
}
Tensor operator*(const Argument &a, const Argument &b) {
    static const Primitive op("mul");
    return binary(op, a, b);
}
Tensor operator/(const Argument &a, const Argument &b) {
    static const Primitive op("div");
    return binary(op, a, b);
}
Tensor operator-(const Tensor &a) {
    static const Primitive op("neg");
    return std::move(op.run({a})[0]);
}
Tensor operator==(const Argument &a, const Argument &b) {
    static const Primitive op("equal");
    return binary(op, a, b);
}
Tensor operator!=(const Argument &a, const Argument &b) {
    static const Primitive op("not_equal");
    return binary(op, a, b);
}
Tensor operator<(const Argument &a, const Argument &b) {
    static const Primitive op("less");
    return binary(op, a, b);
}
Tensor operator<=(const Argument &a, const Argument &b) {
    static const Primitive op("less_equal");
    return binary(op, a, b);
}
Tensor operator>(const Argument &a, const Argument &b) {
    static const Primitive op("greater");
    return binary(op, a, b);
}
Tensor operator>=(const Argument &a, const Argument &b) {
    static const Primitive op("greater_equal");
    return binary(op, a, b);
}

}  // namespace halyard
