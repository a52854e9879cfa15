#include "registry/tensor/view_strides.h"

namespace halyard {

bool is_dense(const Shape &shape, const Shape &strides) {
    if (shape.elements() == 0) return true;
    int64_t next = 1;
    for (int d = shape.rank(); d-- > 0;) {
        if (shape[d] != 1 && strides[d] != next) return false;
        next *= shape[d];
    }
    return true;
}

std::optional<Shape> strides_of_reshaped(const Shape &shape, const Shape &strides,
                                         const Shape &wanted) {
    Shape made = dense_strides(wanted);
    if (is_dense(shape, strides)) return made;
    Shape from, step;  // without extents of 1
    for (int i = 0; i < shape.rank(); i++) {
        if (shape[i] != 1) {
            from.push_back(shape[i]);
            step.push_back(strides[i]);
        }
    }
    // Both shapes are divided into groups of dimensions with equal products. A group of the
    // elements' own shape must be contiguous.
    for (int i = 0, j = 0; i < from.rank();) {
        const int i0 = i;
        const int j0 = j;
        int64_t p = from[i++];
        int64_t q = wanted[j++];
        while (p != q) {
            if (p < q)
                p *= from[i++];
            else
                q *= wanted[j++];
        }
        for (int k = i0; k + 1 < i; k++)
            if (step[k] != step[k + 1] * from[k + 1]) return std::nullopt;
        int64_t n = step[i - 1];
        for (int k = j; k-- > j0;) {
            made[k] = n;
            n *= wanted[k];
        }
    }
    return made;
}

}  // namespace halyard
