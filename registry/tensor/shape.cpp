#include "registry/tensor/shape.h"

namespace halyard {

int64_t checked_elements(const char *op, const Shape &shape) {
    constexpr int64_t limit = 0x7fffffff;
    int64_t n = 1;
    bool none = false;
    for (int i = 0; i < shape.rank(); i++) {
        const int64_t extent = shape[i];
        if (extent < 0) {
            throw ShapeError(op, "extent " + std::to_string(i) + " of " + shape.text() +
                                     " is negative");
        }
        none |= extent == 0;
        if (extent > 0 && (__builtin_mul_overflow(n, extent, &n) || n > limit)) {
            throw ShapeError(
                op, "shape " + shape.text() +
                        " has more than 2147483647 elements (sizes past 2^31 are not supported)");
        }
    }
    return none ? 0 : n;
}

Shape broadcast(const char *op, const Shape &a, const Shape &b) {
    const Shape &longer = a.rank() >= b.rank() ? a : b;
    const Shape &shorter = a.rank() >= b.rank() ? b : a;
    Shape out = longer;
    const int offset = longer.rank() - shorter.rank();
    for (int i = 0; i < shorter.rank(); i++) {
        const int64_t p = longer[i + offset];
        const int64_t q = shorter[i];
        if (p != q && p != 1 && q != 1) {
            throw ShapeError(op, "dimension " + std::to_string(i + offset) + " is " +
                                     std::to_string(&longer == &a ? p : q) + " against " +
                                     std::to_string(&longer == &a ? q : p) + ": " + a.text() +
                                     " and " + b.text() + " don't broadcast");
        }
        if (p == 1) out[i + offset] = q;
    }
    return out;
}

}  // namespace halyard
