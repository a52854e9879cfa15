#include "registry/tensor/tensor.h"

#include <numeric>

#include "registry/tensor/tensor_methods.h"
#include "registry/tensor/view_strides.h"

namespace halyard {
namespace {

using Kind = TensorMethod::Kind;

// Returns `made`, after reporting to the recorder, if there is one, how it was made.
template<class How> Tensor recorded_view(const Tensor &given, Tensor made, How how) {
    if (const MethodRecorder record = method_recorder()) record(given, made, how());
    return made;
}

// Returns `shape` with the extent of t for its -1. Throws ShapeError if the numbers of elements
// differ.
Shape complete(const Shape &shape, const Tensor &t) {
    Shape s = shape;
    int unknown = -1;
    for (int i = 0; i < s.rank(); i++) {
        if (s[i] != -1) continue;
        if (unknown >= 0) throw ShapeError("reshape", "more than one -1 in " + shape.text());
        unknown = i;
        s[i] = 1;
    }
    const int64_t known = checked_elements("reshape", s);
    if (unknown >= 0) {
        if (known == 0 || t.elements() % known) {
            throw ShapeError("reshape", "no extent for the -1 in " + shape.text() + " makes " +
                                            std::to_string(t.elements()) + " elements of " +
                                            t.shape().text());
        }
        s[unknown] = t.elements() / known;
    } else if (known != t.elements()) {
        throw ShapeError("reshape", "shape " + shape.text() + " has " + std::to_string(known) +
                                        " elements, expected " + std::to_string(t.elements()) +
                                        " from " + t.shape().text());
    }
    return s;
}

}  // namespace

bool Tensor::can_reshape(const Shape &shape) const {
    try {
        const Shape wanted = complete(shape, *this);
        return strides_of_reshaped(this->shape(), strides(), wanted).has_value();
    } catch (const ShapeError &) {
        return false;
    }
}

Tensor Tensor::reshape(const Shape &wanted) const {
    const Shape s = complete(wanted, *this);
    const std::optional<Shape> st = strides_of_reshaped(shape(), strides(), s);
    if (!st) {
        throw ShapeError("reshape", "no strides show " + shape().text() + " with strides " +
                                        strides().text() + " as " + s.text() +
                                        "; contiguous() first");
    }
    return recorded_view(*this, with_view(s, *st, 0), [] {
        return TensorMethod{Kind::reshaped, "reshape"};
    });
}

Tensor Tensor::transpose(const std::vector<int> &permutation) const {
    if (int(permutation.size()) != rank()) {
        throw ShapeError("transpose", "permutation has " + std::to_string(permutation.size()) +
                                          " axes, expected " + std::to_string(rank()));
    }
    Shape s = shape();
    Shape st = strides();
    unsigned seen = 0;
    for (int i = 0; i < rank(); i++) {
        const int axis = normal_axis("transpose", permutation[i], rank());
        if (seen >> axis & 1) {
            throw ShapeError("transpose",
                             "axis " + std::to_string(axis) + " occurs twice in the permutation");
        }
        seen |= 1u << axis;
        s[i] = shape()[axis];
        st[i] = strides()[axis];
    }
    return recorded_view(*this, with_view(s, st, 0), [&] {
        std::vector<int> order;
        for (int axis : permutation)
            order.push_back(normal_axis("transpose", axis, rank()));
        return TensorMethod{Kind::permuted, "transpose", order};
    });
}

Tensor Tensor::swap_axes(int a, int b) const {
    const int p = normal_axis("swap_axes", a, rank());
    const int q = normal_axis("swap_axes", b, rank());
    Shape s = shape();
    Shape st = strides();
    std::swap(s[p], s[q]);
    std::swap(st[p], st[q]);
    return recorded_view(*this, with_view(s, st, 0), [&] {
        std::vector<int> order(static_cast<size_t>(rank()));
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[p], order[q]);
        return TensorMethod{Kind::permuted, "swap_axes", order};
    });
}

Tensor Tensor::slice(int axis, int64_t from, int64_t to, int64_t step) const {
    const int a = normal_axis("slice", axis, rank());
    const int64_t extent = shape()[a];
    if (step < 1)
        throw ShapeError("slice", "step is " + std::to_string(step) + ", expected 1 or more");
    if (from < 0 || to < from || to > extent) {
        throw ShapeError("slice", "range is " + std::to_string(from) + " to " + std::to_string(to) +
                                      ", expected within 0 to " + std::to_string(extent) +
                                      " of axis " + std::to_string(a));
    }
    Shape s = shape();
    Shape st = strides();
    s[a] = (to - from) / step + ((to - from) % step != 0);
    st[a] = s[a] > 1 ? st[a] * step : st[a];
    return recorded_view(*this, with_view(s, st, s.elements() ? from * strides()[a] : 0), [&] {
        return TensorMethod{
            .kind = Kind::sliced, .name = "slice", .axis = a, .from = from, .to = to, .step = step};
    });
}

Tensor Tensor::expand(const Shape &wanted) const {
    checked_elements("expand", wanted);
    const int extra = wanted.rank() - rank();
    if (extra < 0) {
        throw ShapeError("expand", "rank is " + std::to_string(wanted.rank()) +
                                       ", expected at least " + std::to_string(rank()));
    }
    Shape st = wanted;
    for (int i = 0; i < wanted.rank(); i++) {
        const int64_t extent = i < extra ? 1 : shape()[i - extra];
        st[i] = i < extra || (extent == 1 && wanted[i] != 1) ? 0 : strides()[i - extra];
        if (extent != 1 && extent != wanted[i]) {
            throw ShapeError("expand", "dimension " + std::to_string(i) + " is " +
                                           std::to_string(extent) + ", expected 1 or " +
                                           std::to_string(wanted[i]) + " to make " + wanted.text());
        }
    }
    return recorded_view(*this, with_view(wanted, st, 0), [] {
        return TensorMethod{Kind::expanded, "expand"};
    });
}

Tensor Tensor::unsqueeze(int axis) const {
    const int a = normal_axis("unsqueeze", axis, rank() + 1);
    Shape s = shape();
    Shape st = strides();
    st.insert(a, a < rank() ? s[a] * st[a] : 1);
    s.insert(a, 1);
    return recorded_view(*this, with_view(s, st, 0), [] {
        return TensorMethod{Kind::reshaped, "unsqueeze"};
    });
}

Tensor Tensor::squeeze(int axis) const {
    const int a = normal_axis("squeeze", axis, rank());
    if (shape()[a] != 1) {
        throw ShapeError("squeeze", "axis " + std::to_string(a) + " is " +
                                        std::to_string(shape()[a]) + ", expected 1");
    }
    Shape s = shape();
    Shape st = strides();
    s.erase(a);
    st.erase(a);
    return recorded_view(*this, with_view(s, st, 0), [] {
        return TensorMethod{Kind::reshaped, "squeeze"};
    });
}

}  // namespace halyard
