// Ops that move elements by lists of places, composed of gather_kernel.
#include "primitives/composites/indexing/indexing.h"

#include <algorithm>

#include "primitives/autograd/recorded.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/places.h"
#include "primitives/composites/rows.h"
#include "primitives/ops/gather.h"

namespace halyard {
namespace {

using Places = std::vector<int32_t>;

// Returns x's elements at `places` along `axis`. The result has shape `instead` in place of that
// axis.
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
    return reshaped(
        kernel::gather(reshaped(x, {outer, n, inner}), places, Tensor::scalar(0, x.dtype()), true),
        s);
}

// The adjoint of take() for an x whose axis has n elements.
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
    return reshaped(
        kernel::gather_dx(shape_of_x, Tensor::from(places, {m}), reshaped(dy, {outer, m, inner})),
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

Tensor flipped(const Tensor &x, const std::vector<int> &axes) {
    Shape strides = x.strides();
    int64_t first = 0;  // The element from which negative strides start.
    for (int d : axes) {
        first += (x.shape()[d] - 1) * strides[d];
        strides[d] = -strides[d];
    }
    const Tensor y = x.elements() == 0 ? Tensor::empty(x.shape(), x.dtype())
                                       : x.with_view(x.shape(), strides, first).copy();
    return recorded(x, y, [axes](const Tensor &dy) { return flipped(dy, axes); });
}

// Returns x with the last `by` elements of an axis moved to its front.
Tensor rotated(const Tensor &x, int axis, int64_t by) {
    const int64_t n = x.shape()[axis];
    const Tensor y = Tensor::empty(x.shape(), x.dtype());
    by_rows(x.shape(), axis > 0, [&](auto some) {
        some(y).slice(axis, 0, by).assign(some(x).slice(axis, n - by, n));
        some(y).slice(axis, by, n).assign(some(x).slice(axis, 0, n - by));
    });
    return recorded(x, y, [axis, n, by](const Tensor &dy) { return rotated(dy, axis, n - by); });
}

// Returns x as [outer, n, inner] around `axis`, repeated `times` times along a new dimension before
// or after that of n, and copied.
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

enum BorderMode { constant, reflect, replicate, circular, symmetric };

// The number of elements around x along each axis, at most 2^31-1 on each side.
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

// Returns x with `value` around it. Each element is written once.
Tensor bordered(const Tensor &x, const Border &b, double value) {
    const Window inside = b.inside(x.shape());
    const Shape s = b.whole(x.shape());
    const Tensor y = Tensor::empty(s, x.dtype());
    const Tensor border = Tensor::scalar(value, x.dtype());
    const auto fill = [&](const Tensor &part) { part.assign(border.expand(part.shape())); };
    Tensor rest = y;
    // Later axes are written within x's extent of this one only.
    for (int d = 0; d < s.rank(); d++) {
        fill(rest.slice(d, 0, b.before[d]));
        fill(rest.slice(d, inside.end[d], s[d]));
        rest = rest.slice(d, b.before[d], inside.end[d]);
    }
    rest.assign(x);
    return recorded(x, y, [inside](const Tensor &dy) { return window_of(dy, inside); });
}

// Returns the index whose element is at index i of an axis of n, for i outside of it.
int64_t mirrored(int64_t i, int64_t n, BorderMode mode) {
    if (mode == reflect) return i < 0 ? -i : 2 * (n - 1) - i;
    if (mode == replicate) return i < 0 ? 0 : n - 1;
    if (mode == circular) return i < 0 ? i + n : i - n;
    return i < 0 ? -1 - i : 2 * n - 1 - i;
}

// Fills y with x, and with x's elements around it by one of the modes that copy. The innermost axis
// is filled first, then whole rows of y along the others.
void surround(const Tensor &y, const Tensor &x, const Border &b, BorderMode mode) {
    std::vector<Tensor> within = {y};  // Element d has x's extents along the axes before d.
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

// Throws AttrError for a border that is wider than x's elements can fill.
void check_border(const Tensor &x, const Border &b, BorderMode mode) {
    for (int d = 0; d < x.rank(); d++) {
        const int64_t n = x.shape()[d];
        const int64_t max_padding = mode == reflect ? n - 1 : mode == replicate ? INT32_MAX : n;
        for (int64_t p : {b.before[d], b.after[d]}) {
            if (p > 0 && (p > max_padding || n == 0)) {
                throw AttrError("pad", "padding is " + std::to_string(p) + ", expected at most " +
                                           std::to_string(max_padding) + " for an extent of " +
                                           std::to_string(n));
            }
        }
    }
}

// Returns x with x's elements around it by one of the modes that copy.
Tensor surrounded(const Tensor &x, const Border &b, BorderMode mode) {
    check_border(x, b, mode);
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

// gather: the shape of the indices replaces x's axis.
struct GatherAxis : Composite {
    GatherAxis()
        : Composite("gather", "x[*] indices:i32[*] -> y[*]",
                    "y = x's elements at indices along axis; negative ones count from the end") {
        at_call("axis", AttrKind::integer, "0");
        let("indices_end", "d0");
        samples = {"d0=2 d1=3 d2=5", "d0=2 d1=3 d2=5 axis=1", "d0=2 d1=3 d2=5 axis=-1"};
    }
    Result compose(const Call &call) const override {
        const int axis = normal_axis("gather", call.integer("axis"), call[0].rank());
        return {take(call[0], axis, places_of("gather", call[1], call[0].shape()[axis]),
                     call[1].shape())};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape at = p("indices").shape;
        const int axis = wrapped(p["axis"], x.rank());
        Shape s;
        for (int d = 0; d < axis; d++)
            s.push_back(x[d]);
        for (int d = 0; d < at.rank(); d++)
            s.push_back(at[d]);
        for (int d = axis + 1; d < x.rank(); d++)
            s.push_back(x[d]);
        gather(p, s, [&](const Shape &index) {
            Shape from;
            int64_t place = 0;
            for (int d = 0; d < axis; d++)
                from.push_back(index[d]);
            for (int d = 0; d < at.rank(); d++)
                place = place * at[d] + index[axis + d];
            from.push_back(wrapped(int64_t(p("indices").v[size_t(place)]), x[axis]));
            for (int d = axis + 1; d < x.rank(); d++)
                from.push_back(index[d + at.rank() - 1]);
            return from;
        });
    }
};

struct IndexSelect : Composite {
    IndexSelect()
        : Composite("index_select", "x[*] index:i32[m] -> y[*]",
                    "y = x's elements at index along axis; negative ones count from the end") {
        at_call("axis", AttrKind::integer, "0");
        let("index_end", "d0");
        samples = {"d0=2 d1=3 d2=5 m=4", "d0=2 d1=3 d2=5 m=7 axis=-2"};
    }
    Result compose(const Call &call) const override {
        const int axis = normal_axis("index_select", call.integer("axis"), call[0].rank());
        return {take(call[0], axis, places_of("index_select", call[1], call[0].shape()[axis]),
                     call[1].shape())};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const int axis = wrapped(p["axis"], x.rank());
        Shape s = x;
        s[axis] = p("index").shape[0];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            from[axis] = wrapped(int64_t(p("index").v[size_t(index[axis])]), x[axis]);
            return from;
        });
    }
};

struct Embedding : Composite {
    Embedding()
        : Composite("embedding", "indices:i32[*] weight[v,d] -> y[*]",
                    "y = weight's rows at indices; negative ones count from the end") {
        let("indices_end", "v");
        samples = {"d0=2 d1=3 d2=5 v=7 d=4", "d0=1 d1=1 d2=1 v=1 d=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &indices = call[0];
        const Tensor &weight = call[1];
        if (weight.rank() != 2) {
            throw ShapeError("embedding", "weight has rank " + std::to_string(weight.rank()) +
                                              ", expected 2 (v,d)");
        }
        return {
            take(weight, 0, places_of("embedding", indices, weight.shape()[0]), indices.shape())};
    }
    void reference(Problem &p) const override {
        Shape s = p("indices").shape;
        s.push_back(p["d"]);
        Array y(s);
        for (size_t i = 0; i < y.v.size(); i++) {
            const int64_t row = wrapped(int64_t(p("indices").v[i / size_t(p["d"])]), p["v"]);
            y.v[i] = p("weight")(row, int64_t(i) % p["d"]);
        }
        p.tensors["y"] = y;
    }
};

struct Flip : Composite {
    Flip() : Composite("flip", "x[*] -> y[*]", "y = x with the axes `dims` reversed") {
        at_call("dims", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 dims=0,2", "d0=2 d1=3 d2=5 dims=-2"};
    }
    Result compose(const Call &call) const override {
        std::vector<int> axes;
        for (int64_t dim : call.ints("dims"))
            axes.push_back(normal_axis("flip", dim, call[0].rank()));
        return {flipped(call[0], axes)};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape dims = list(p, "dims");
        gather(p, x, [&](const Shape &index) {
            Shape from = index;
            for (int64_t d : dims) {
                from[wrapped(d, x.rank())] = x[wrapped(d, x.rank())] - 1 -
                                             index[wrapped(d, x.rank())];
            }
            return from;
        });
    }
};

struct Roll : Composite {
    Roll()
        : Composite("roll", "x[*] -> y[*]",
                    "y = x moved by `shifts` along `dims`; what leaves at the end comes in at the "
                    "start") {
        at_call("shifts", AttrKind::ints, "");
        at_call("dims", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 shifts=1,-7 dims=0,2", "d0=2 d1=3 d2=5 shifts=2 dims=-2"};
    }
    Result compose(const Call &call) const override {
        const Ints &shifts = call.ints("shifts");
        const Ints &dims = call.ints("dims");
        if (shifts.size() != dims.size()) {
            throw AttrError("roll", "shifts has " + std::to_string(shifts.size()) +
                                        " values, expected " + std::to_string(dims.size()) +
                                        " as dims");
        }
        Tensor y = call[0];
        for (size_t k = 0; k < dims.size(); k++) {
            const int axis = normal_axis("roll", dims[k], y.rank());
            const int64_t n = y.shape()[axis];
            if (n > 0) y = rotated(y, axis, (shifts[k] % n + n) % n);
        }
        return {y};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape shifts = list(p, "shifts");
        const Shape dims = list(p, "dims");
        gather(p, x, [&](const Shape &index) {
            Shape from = index;
            for (int k = 0; k < dims.rank(); k++) {
                const int d = wrapped(dims[k], x.rank());
                from[d] = ((from[d] - shifts[k]) % x[d] + x[d]) % x[d];
            }
            return from;
        });
    }
};

struct Tile : Composite {
    Tile()
        : Composite("tile", "x[*] -> y[*]",
                    "y = x put side by side, multiples[d] times along axis d; more multiples than "
                    "axes add axes in front") {
        at_call("multiples", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 multiples=1,2,3", "d0=2 d1=1 d2=3 multiples=2,1,1,2"};
    }
    Result compose(const Call &call) const override {
        const Ints &multiples = call.ints("multiples");
        const int lead = int(multiples.size()) - call[0].rank();
        if (lead < 0) {
            throw AttrError("tile", "multiples has " + std::to_string(multiples.size()) +
                                        " values, expected at least " +
                                        std::to_string(call[0].rank()) + " for x" +
                                        call[0].shape().text());
        }
        Shape s = call[0].shape();
        for (int d = 0; d < lead; d++)
            s.insert(0, 1);
        Tensor y = reshaped(call[0], s);
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
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape multiples = list(p, "multiples");
        const int lead = multiples.rank() - x.rank();
        Shape s = multiples;
        for (int d = 0; d < x.rank(); d++)
            s[d + lead] *= x[d];
        gather(p, s, [&](const Shape &index) {
            Shape from = x;
            for (int d = 0; d < x.rank(); d++)
                from[d] = index[d + lead] % x[d];
            return from;
        });
    }
};

struct RepeatInterleave : Composite {
    RepeatInterleave()
        : Composite("repeat_interleave", "x[*] -> y[*]",
                    "y = every element of x `repeats` times in a row along axis") {
        required_at_call("repeats", AttrKind::integer);
        at_call("axis", AttrKind::integer, "0");
        samples = {"d0=2 d1=3 d2=5 repeats=3 axis=1", "d0=2 d1=3 d2=5 repeats=2 axis=-1"};
    }
    Result compose(const Call &call) const override {
        const int axis = normal_axis("repeat_interleave", call.integer("axis"), call[0].rank());
        const int64_t repeats = call.integer("repeats");
        if (repeats < 0) {
            throw AttrError("repeat_interleave",
                            "repeats is " + std::to_string(repeats) + ", expected 0 or more");
        }
        return {repeated("repeat_interleave", call[0], axis, repeats, true)};
    }
    void reference(Problem &p) const override {
        Shape s = p("x").shape;
        const int axis = wrapped(p["axis"], s.rank());
        s[axis] *= p["repeats"];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            from[axis] /= p["repeats"];
            return from;
        });
    }
};

// The padding has a pair for each axis from the last one on, as in MindSpore and PyTorch.
struct Pad : Composite {
    Pad()
        : Composite("pad", "x[*] -> y[*]",
                    "y = x with padding[0] elements before and padding[1] after along the last "
                    "axis, padding[2], [3] along the one before it, ...") {
        at_call("padding", AttrKind::ints, "");
        choice_at_call("mode", {"constant", "reflect", "replicate", "circular", "symmetric"},
                       "BorderMode");
        at_call("value", AttrKind::real, "0");
        samples = {"d0=2 d1=3 d2=5 padding=1,2",
                   "d0=2 d1=3 d2=5 padding=2,4,1,0 mode=reflect",
                   "d0=2 d1=3 d2=5 padding=0,3,2,1 mode=replicate",
                   "d0=2 d1=3 d2=5 padding=5,1 mode=circular",
                   "d0=2 d1=3 d2=5 padding=5,2,1,3 mode=symmetric",
                   "d0=2 d1=3 d2=5 padding=1,0,0,2,1,1 value=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Ints &padding = call.ints("padding");
        const auto mode = (BorderMode)call.integer("mode");
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
        return {mode == constant ? bordered(x, b, call.real("value")) : surrounded(x, b, mode)};
    }
    void reference(Problem &p) const override {
        const Array x = p("x");
        const Shape padding = list(p, "padding");
        const int rank = x.shape.rank();
        Shape s = x.shape;
        for (int k = 0; 2 * k < padding.rank(); k++)
            s[rank - 1 - k] += padding[2 * k] + padding[2 * k + 1];
        Array y(s, p.real("value"));
        Shape index(s);
        for (int64_t e = 0; e < int64_t(y.v.size()); e++) {
            int64_t rest = e;
            int64_t at = 0;
            for (int d = rank; d-- > 0;) {
                index[d] = rest % s[d];
                rest /= s[d];
            }
            bool inside = true;
            for (int d = 0; d < rank; d++) {
                const int k = 2 * (rank - 1 - d);
                const int64_t n = x.shape[d];
                const int64_t i = index[d] - (k < padding.rank() ? padding[k] : 0);
                const int64_t from = source(i, n, (BorderMode)p["mode"]);
                inside &= from >= 0 && from < n;
                at = at * n + from;
            }
            if (inside) y.v[size_t(e)] = x.v[size_t(at)];
        }
        p.tensors["y"] = y;
    }
    // Returns the index whose element is at index i of an axis of n.
    static int64_t source(int64_t i, int64_t n, BorderMode mode) {
        switch (mode) {
        case constant: break;
        case reflect: return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
        case replicate: return std::clamp<int64_t>(i, 0, n - 1);
        case circular: return (i % n + n) % n;
        case symmetric: return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
        }
        return i;
    }
};

// gather_kernel_dx adds dy at the places of `index`; its adjoint in dy reads them again.
Tensor gathered(Tensors in, const RegisteredOp &, const Attrs &) {
    return kernel::gather(in[1], in[0], Tensor::scalar(0, in[1].dtype()));
}

}  // namespace

namespace composite {

Tensor pad(const Tensor &x, const Ints &padding, double value) {
    return run1("pad", {x}, {{"padding", padding}, {"value", value}});
}
Tensor gather(const Tensor &x, const Tensor &indices, int64_t axis) {
    return run1("gather", {x, indices}, {{"axis", axis}});
}
Tensor index_select(const Tensor &x, const Tensor &index, int64_t axis) {
    return run1("index_select", {x, index}, {{"axis", axis}});
}
Tensor flip(const Tensor &x, const Ints &dims) {
    return run1("flip", {x}, {{"dims", dims}});
}

}  // namespace composite

HALYARD_COMPOSITES {
    composites.add<GatherAxis>();
    composites.add<IndexSelect>();
    composites.add<Embedding>();
    composites.add<Flip>();
    composites.add<Roll>();
    composites.add<Tile>();
    composites.add<RepeatInterleave>();
    composites.add<Pad>();
    composites.gradient({"gather_kernel_dx", "x", {}, no_gradient});
    composites.gradient({"gather_kernel_dx", "dy", {"index", "ddx"}, gathered});
}

}  // namespace halyard
