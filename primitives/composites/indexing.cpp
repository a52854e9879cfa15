// Compositions that move elements by lists of places (records: kernels/indexing/indexing.cpp). All
// of them, and their gradients, are gather_kernel along one axis after another.
#include <algorithm>

#include "primitives/autograd/recorded.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/places.h"
#include "primitives/composites/rows.h"

namespace halyard {
namespace {

using Places = std::vector<int32_t>;

// x's elements at `places` along `axis`, in the shape `instead` where x has that axis.
Tensor take(const Tensor &x, int axis, const Tensor &places, const Shape &instead) {
    int64_t outer = 1, inner = 1;
    Shape s;
    for (int d = 0; d < axis; d++) {
        outer *= x.shape()[d];
        s.push_back(x.shape()[d]);
    }
    for (int d = 0; d < instead.rank(); d++)
        s.push_back(instead[d]);
    for (int d = axis + 1; d < x.rank(); d++) {
        inner *= x.shape()[d];
        s.push_back(x.shape()[d]);
    }
    const int64_t n = x.shape()[axis];
    if (n == 0 || s.elements() == 0) return Tensor::zeros(s, x.dtype());
    return reshaped(run1("gather_kernel",
                         {reshaped(x, {outer, n, inner}), places, Tensor::scalar(0, x.dtype())},
                         {{"all_within", true}}),
                    s);
}
// The adjoint of take(): of x, whose axis has n elements.
Tensor given_back(const Tensor &dy, int axis, const Places &places, int64_t n) {
    int64_t outer = 1, inner = 1;
    Shape s = dy.shape();
    s[axis] = n;
    for (int d = 0; d < axis; d++)
        outer *= s[d];
    for (int d = axis + 1; d < s.rank(); d++)
        inner *= s[d];
    if (s.elements() == 0 || dy.elements() == 0) return Tensor::zeros(s, dy.dtype());
    const auto m = int64_t(places.size());
    const Tensor shape_of_x = Tensor::scalar(0, dy.dtype()).expand({outer, n, inner});
    return reshaped(run1("gather_kernel_dx",
                         {shape_of_x, Tensor::from(places, {m}), reshaped(dy, {outer, m, inner})}),
                    s);
}

Places no_places(const std::string &op, int64_t extent, int64_t times = 1) {
    int64_t n = 0;
    if (__builtin_mul_overflow(extent, times, &n) || n > INT32_MAX) {
        throw ShapeError(op, std::to_string(extent) + " elements " + std::to_string(times) +
                                 " times, the limit is " + std::to_string(INT32_MAX));
    }
    return Places(size_t(n));
}

Result gather(Tensors in, const Attrs &a) {
    const int axis = normal_axis("gather", integer(a, "axis"), in[0].rank());
    return {take(in[0], axis, places_of("gather", in[1], in[0].shape()[axis]), in[1].shape())};
}
Result index_select(Tensors in, const Attrs &a) {
    const int axis = normal_axis("index_select", integer(a, "axis"), in[0].rank());
    return {
        take(in[0], axis, places_of("index_select", in[1], in[0].shape()[axis]), in[1].shape())};
}
Result embedding(Tensors in, const Attrs &) {
    const Tensor &indices = in[0];
    const Tensor &weight = in[1];
    if (weight.rank() != 2) {
        throw ShapeError("embedding",
                         "weight has rank " + std::to_string(weight.rank()) + ", expected 2 (v,d)");
    }
    return {take(weight, 0, places_of("embedding", indices, weight.shape()[0]), indices.shape())};
}

Tensor flipped(const Tensor &x, const std::vector<int> &axes) {
    Shape strides = x.strides();
    int64_t first = 0;  // element: strides run backwards from there
    for (int d : axes) {
        first += (x.shape()[d] - 1) * strides[d];
        strides[d] = -strides[d];
    }
    const Tensor y = x.elements() == 0 ? Tensor::empty(x.shape(), x.dtype())
                                       : x.with_view(x.shape(), strides, first).copy();
    return recorded(x, y, [axes](const Tensor &dy) { return flipped(dy, axes); });
}

Result flip(Tensors in, const Attrs &a) {
    std::vector<int> axes;
    for (int64_t dim : ints(a, "dims"))
        axes.push_back(normal_axis("flip", dim, in[0].rank()));
    return {flipped(in[0], axes)};
}

// x's last `by` elements of an axis, then the others.
Tensor rotated(const Tensor &x, int axis, int64_t by) {
    const int64_t n = x.shape()[axis];
    const Tensor y = Tensor::empty(x.shape(), x.dtype());
    by_rows(x.shape(), axis > 0, [&](auto some) {
        some(y).slice(axis, 0, by).assign(some(x).slice(axis, n - by, n));
        some(y).slice(axis, by, n).assign(some(x).slice(axis, 0, n - by));
    });
    return recorded(x, y, [axis, n, by](const Tensor &dy) { return rotated(dy, axis, n - by); });
}

Result roll(Tensors in, const Attrs &a) {
    const Ints &shifts = ints(a, "shifts");
    const Ints &dims = ints(a, "dims");
    if (shifts.size() != dims.size()) {
        throw AttrError("roll", "shifts has " + std::to_string(shifts.size()) +
                                    " values, expected " + std::to_string(dims.size()) +
                                    " as dims");
    }
    Tensor y = in[0];
    for (size_t k = 0; k < dims.size(); k++) {
        const int axis = normal_axis("roll", dims[k], y.rank());
        const int64_t n = y.shape()[axis];
        if (n > 0) y = rotated(y, axis, (shifts[k] % n + n) % n);
    }
    return {y};
}

// x as [outer, n, inner] around `axis`, seen `times` times over along a new dimension before or
// behind that of n, and copied.
Tensor repeated(const char *op, const Tensor &x, int axis, int64_t times, bool each) {
    Shape s = x.shape();
    if (__builtin_mul_overflow(s[axis], times, &s[axis]) || s[axis] > INT32_MAX) {
        throw ShapeError(op, std::to_string(x.shape()[axis]) + " elements " +
                                 std::to_string(times) + " times, the limit is " +
                                 std::to_string(INT32_MAX));
    }
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < axis; d++)
        outer *= s[d];
    for (int d = axis + 1; d < s.rank(); d++)
        inner *= s[d];
    const int64_t n = x.shape()[axis];
    if (each) {
        return reshaped(
            broadcast_view(reshaped(x, {outer * n, 1, inner}), {outer * n, times, inner}), s);
    }
    return reshaped(broadcast_view(reshaped(x, {outer, 1, n * inner}), {outer, times, n * inner}),
                    s);
}

Result tile(Tensors in, const Attrs &a) {
    const Ints &multiples = ints(a, "multiples");
    const int lead = int(multiples.size()) - in[0].rank();
    if (lead < 0) {
        throw AttrError("tile", "multiples has " + std::to_string(multiples.size()) +
                                    " values, expected at least " + std::to_string(in[0].rank()) +
                                    " for x" + in[0].shape().text());
    }
    Shape s = in[0].shape();
    for (int d = 0; d < lead; d++)
        s.insert(0, 1);
    Tensor y = reshaped(in[0], s);
    for (int d = s.rank(); d-- > 0;) {
        const int64_t times = multiples[size_t(d)];
        if (times < 0) {
            throw AttrError("tile", "multiple " + std::to_string(d) + " is " +
                                        std::to_string(times) + ", expected 0 or more");
        }
        if (times != 1) y = repeated("tile", y, d, times, false);
    }
    return {y};
}

Result repeat_interleave(Tensors in, const Attrs &a) {
    const int axis = normal_axis("repeat_interleave", integer(a, "axis"), in[0].rank());
    const int64_t repeats = integer(a, "repeats");
    if (repeats < 0) {
        throw AttrError("repeat_interleave",
                        "repeats is " + std::to_string(repeats) + ", expected 0 or more");
    }
    return {repeated("repeat_interleave", in[0], axis, repeats, true)};
}

enum PadMode { constant, reflect, replicate, circular, symmetric };

// How many elements stand around x along each axis: at most 2^31-1 on each side.
struct Border {
    Shape before, after;
    Window inside(const Shape &x) const {
        Window w{before, before, before};
        for (int d = 0; d < x.rank(); d++) {
            w.end[d] += x[d];
            w.step[d] = 1;
        }
        return w;
    }
    Shape whole(const Shape &x) const {
        Shape s = x;
        for (int d = 0; d < x.rank(); d++)
            s[d] += before[d] + after[d];
        return s;
    }
};

// x with `value` around it. Each element is written once.
Tensor bordered(const Tensor &x, const Border &b, double value) {
    const Window inside = b.inside(x.shape());
    const Shape s = b.whole(x.shape());
    const Tensor y = Tensor::empty(s, x.dtype());
    const Tensor border = Tensor::scalar(value, x.dtype());
    const auto fill = [&](const Tensor &part) { part.assign(border.expand(part.shape())); };
    Tensor rest = y;
    for (int d = 0; d < s.rank(); d++) {  // what is left of this axis is as deep as x
        fill(rest.slice(d, 0, b.before[d]));
        fill(rest.slice(d, inside.end[d], s[d]));
        rest = rest.slice(d, b.before[d], inside.end[d]);
    }
    rest.assign(x);
    return recorded(x, y, [inside](const Tensor &dy) { return window_of(dy, inside); });
}

// What stands at place i of an axis of n, for i outside of it.
int64_t mirrored(int64_t i, int64_t n, PadMode mode) {
    if (mode == reflect) return i < 0 ? -i : 2 * (n - 1) - i;
    if (mode == replicate) return i < 0 ? 0 : n - 1;
    if (mode == circular) return i < 0 ? i + n : i - n;
    return i < 0 ? -1 - i : 2 * n - 1 - i;
}

// Fills y with x and itself around it, in one of the other modes: the innermost axis first, then
// whole rows of y along the others.
void surround(const Tensor &y, const Tensor &x, const Border &b, PadMode mode) {
    std::vector<Tensor> within = {y};  // [d]: the axes before d only as deep as x
    for (int d = 0; d < x.rank(); d++)
        within.push_back(within.back().slice(d, b.before[d], b.before[d] + x.shape()[d]));
    within.back().assign(x);
    for (int d = x.rank(); d-- > 0;) {
        const int64_t n = x.shape()[d];
        const int64_t before = b.before[d];
        const auto line = [&](int64_t i) {
            return within[size_t(d)].slice(d, before + i, before + i + 1);
        };
        for (int64_t i = -before; i < 0; i++)
            line(i).assign(line(mirrored(i, n, mode)));
        for (int64_t i = n; i < n + b.after[d]; i++)
            line(i).assign(line(mirrored(i, n, mode)));
    }
}

Tensor surrounded(const Tensor &x, const Border &b, PadMode mode) {
    for (int d = 0; d < x.rank(); d++) {
        const int64_t n = x.shape()[d];
        const int64_t most = mode == reflect ? n - 1 : mode == replicate ? INT32_MAX : n;
        for (int64_t p : {b.before[d], b.after[d]}) {
            if (p > 0 && (p > most || n == 0)) {
                throw AttrError("pad", "padding is " + std::to_string(p) + ", expected at most " +
                                           std::to_string(most) + " for an extent of " +
                                           std::to_string(n));
            }
        }
    }
    const Tensor y = Tensor::empty(b.whole(x.shape()), x.dtype());
    const bool apart = x.rank() > 0 && b.before[0] == 0 && b.after[0] == 0;
    by_rows(y.shape(), apart, [&](auto some) { surround(some(y), some(x), b, mode); });
    return recorded(x, y, [from = x.shape(), b, mode](const Tensor &dy) {
        Tensor dx = dy;
        for (int d = 0; d < from.rank(); d++) {
            if (b.before[d] == 0 && b.after[d] == 0) continue;
            Places at = no_places("pad", dx.shape()[d]);
            for (size_t k = 0; k < at.size(); k++) {
                const int64_t i = int64_t(k) - b.before[d];
                at[k] = int32_t(i >= 0 && i < from[d] ? i : mirrored(i, from[d], mode));
            }
            dx = given_back(dx, d, at, from[d]);
        }
        return dx;
    });
}

Result pad(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Ints &padding = ints(a, "padding");
    const auto mode = (PadMode)integer(a, "mode");
    if (padding.size() % 2 || padding.size() > 2 * size_t(x.rank())) {
        throw AttrError("pad", "padding has " + std::to_string(padding.size()) +
                                   " values, expected an even number up to " +
                                   std::to_string(2 * x.rank()) + " for x" + x.shape().text());
    }
    for (int64_t p : padding) {
        if (p < 0 || p > INT32_MAX) {
            throw AttrError("pad",
                            "padding is " + std::to_string(p) + ", expected " +
                                (p < 0 ? "0 or more" : "at most " + std::to_string(INT32_MAX)));
        }
    }
    Border b{x.shape(), x.shape()};
    for (int d = 0; d < x.rank(); d++) {
        const size_t k = 2 * size_t(x.rank() - 1 - d);
        b.before[d] = k < padding.size() ? padding[k] : 0;
        b.after[d] = k < padding.size() ? padding[k + 1] : 0;
    }
    return {mode == constant ? bordered(x, b, real(a, "value")) : surrounded(x, b, mode)};
}

}  // namespace

Family indexing_family() {
    static const Family::value_type all[] = {{"gather", gather},
                                             {"index_select", index_select},
                                             {"embedding", embedding},
                                             {"flip", flip},
                                             {"roll", roll},
                                             {"tile", tile},
                                             {"pad", pad},
                                             {"repeat_interleave", repeat_interleave}};
    return all;
}

}  // namespace halyard
