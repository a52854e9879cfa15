// Shapes and windows: views of x's elements, or copies if strides can't express the view.
#include "primitives/composites/layout/shapes.h"

#include <algorithm>

#include "primitives/composites/composite.h"

namespace halyard {
namespace {

// Returns a list attribute that has one value for each axis of x. Throws ShapeError for another
// length.
const Ints &per_axis(const Call &call, const char *name, const Tensor &x) {
    const Ints &v = call.ints(name);
    if (int(v.size()) != x.rank()) {
        throw ShapeError(call.op(), std::string(name) + " has " + std::to_string(v.size()) +
                                        " values, expected " + std::to_string(x.rank()) + " for x" +
                                        x.shape().text());
    }
    return v;
}

struct Reshape : Composite {
    Reshape()
        : Composite("reshape", "x[*] -> y[*]",
                    "y has x's elements in row-major order; one extent of shape may be -1") {
        at_call("shape", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=4 shape=4,6", "d0=2 d1=3 d2=4 shape=-1",
                   "d0=2 d1=3 d2=4 shape=2,-1,2,1"};
    }
    Result compose(const Call &call) const override {
        return {reshaped(call[0], Shape(call.ints("shape")))};
    }
    void reference(Problem &p) const override {
        Shape s = list(p, "shape");
        const int64_t known = s.elements();
        const int64_t n = p("x").shape.elements();
        for (int64_t &e : s)
            if (e == -1) e = -n / known;
        same_elements(p, s);
    }
};

struct Transpose : Composite {
    Transpose()
        : Composite("transpose", "x[*] -> y[*]", "y's dimension i is x's dimension perm[i]") {
        other_names = {"permute"};
        at_call("perm", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=4 perm=0,2,1", "d0=2 d1=3 d2=4 perm=2,0,1",
                   "d0=2 d1=3 d2=4 perm=-1,-2,-3"};
    }
    Result compose(const Call &call) const override {
        const Ints &p = call.ints("perm");
        return {transposed(call[0], std::vector<int>(p.begin(), p.end()))};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        Shape perm = list(p, "perm");
        Shape s = perm;
        for (int d = 0; d < perm.rank(); d++) {
            perm[d] += perm[d] < 0 ? x.rank() : 0;
            s[d] = x[perm[d]];
        }
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            for (int d = 0; d < perm.rank(); d++)
                from[perm[d]] = index[d];
            return from;
        });
    }
};

struct Flatten : Composite {
    Flatten() : Composite("flatten", "x[*] -> y[*]", "dimensions start_dim to end_dim become one") {
        attr("start_dim", 1);
        attr("end_dim", -1);
        samples = {"d0=2 d1=3 d2=4", "d0=2 d1=3 d2=4 start_dim=0 end_dim=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        if (x.rank() == 0) return {reshaped(x, {1})};
        // A vector is flat already, and start_dim 1 would be out of range.
        const int to = normal_axis("flatten", call.integer("end_dim"), x.rank());
        const int from = x.rank() == 1
                             ? 0
                             : normal_axis("flatten", call.integer("start_dim"), x.rank());
        if (from > to) {
            throw AttrError("flatten", "start_dim is " + std::to_string(from) +
                                           ", expected at most end_dim " + std::to_string(to));
        }
        Shape s;
        int64_t n = 1;
        for (int d = 0; d < x.rank(); d++) {
            if (d < from || d > to)
                s.push_back(x.shape()[d]);
            else if (n *= x.shape()[d]; d == to)
                s.push_back(n);
        }
        return {reshaped(x, s)};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const int64_t from = p["start_dim"];
        const int64_t to = p["end_dim"] < 0 ? p["end_dim"] + x.rank() : p["end_dim"];
        Shape s;
        for (int d = 0; d < x.rank(); d++) {
            if (d > from && d <= to)
                s[s.rank() - 1] *= x[d];
            else
                s.push_back(x[d]);
        }
        same_elements(p, s);
    }
};

struct ExpandDims : Composite {
    ExpandDims()
        : Composite("expand_dims", "x[*] -> y[*]", "a dimension of extent 1 before `axis`") {
        at_call("axis", AttrKind::integer, "0");
        samples = {"d0=2 d1=3 d2=4 axis=1", "d0=2 d1=3 d2=4 axis=-1"};
    }
    Result compose(const Call &call) const override {
        Shape s = call[0].shape();
        s.insert(normal_axis("expand_dims", call.integer("axis"), s.rank() + 1), 1);
        return {reshaped(call[0], s)};
    }
    void reference(Problem &p) const override {
        Shape s = p("x").shape;
        s.insert(int(p["axis"] < 0 ? p["axis"] + s.rank() + 1 : p["axis"]), 1);
        same_elements(p, s);
    }
};

struct Squeeze : Composite {
    Squeeze()
        : Composite("squeeze", "x[*] -> y[*]",
                    "the dimensions of `axis`, or all of extent 1 when it is empty, vanish") {
        attr("axis", AttrKind::ints, "");
        samples = {"d0=1 d1=3 d2=1", "d0=1 d1=3 d2=1 axis=2", "d0=1 d1=3 d2=1 axis=0,-1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Ints &axes = call.ints("axis");
        unsigned drop = 0;
        for (int64_t axis : axes) {
            const int d = normal_axis("squeeze", axis, x.rank());
            if (x.shape()[d] != 1) {
                throw ShapeError("squeeze", "dimension " + std::to_string(d) + " is " +
                                                std::to_string(x.shape()[d]) + ", expected 1");
            }
            drop |= 1u << d;
        }
        Shape s;
        for (int d = 0; d < x.rank(); d++)
            if (axes.empty() ? x.shape()[d] != 1 : !(drop >> d & 1)) s.push_back(x.shape()[d]);
        return {reshaped(x, s)};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape axes = list(p, "axis");
        Shape s;
        for (int d = 0; d < x.rank(); d++) {
            bool drop = axes.empty() && x[d] == 1;
            for (int64_t a : axes)
                drop |= wrapped(a, x.rank()) == d;
            if (!drop) s.push_back(x[d]);
        }
        same_elements(p, s);
    }
};

struct BroadcastTo : Composite {
    BroadcastTo()
        : Composite("broadcast_to", "x[*] -> y[*]",
                    "x repeated along its extents of 1, and new leading ones; -1 keeps an extent") {
        other_names = {"expand"};
        required("shape", AttrKind::ints);
        samples = {"d0=2 d1=1 d2=4 shape=2,3,4", "d0=1 d1=3 d2=1 shape=5,2,-1,4"};
    }
    Result compose(const Call &call) const override {
        Shape s(call.ints("shape"));
        const int lead = s.rank() - call[0].rank();
        for (int d = 0; d < s.rank(); d++) {  // -1 keeps the extent.
            if (s[d] != -1) continue;
            if (d < lead) {
                throw ShapeError(call.op(), "dimension " + std::to_string(d) + " is -1, but x" +
                                                call[0].shape().text() + " has no extent there");
            }
            s[d] = call[0].shape()[d - lead];
        }
        return {broadcast_view(call[0], s)};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        Shape s = list(p, "shape");
        const int lead = s.rank() - x.rank();
        for (int d = 0; d < s.rank(); d++)
            s[d] = s[d] == -1 ? x[d - lead] : s[d];
        gather(p, s, [&](const Shape &index) {
            Shape from = x;
            for (int d = 0; d < x.rank(); d++)
                from[d] = x[d] == 1 ? 0 : index[d + lead];
            return from;
        });
    }
};

struct Slice : Composite {
    Slice()
        : Composite("slice", "x[*] -> y[*]",
                    "`size` elements from `begin` on of every dimension; -1: all that follow") {
        at_call("begin", AttrKind::ints, "");
        at_call("size", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 begin=0,1,2 size=2,2,3",
                   "d0=2 d1=3 d2=5 begin=1,0,1 size=1,-1,-1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Ints &begin = per_axis(call, "begin", x);
        const Ints &size = per_axis(call, "size", x);
        Window w{Shape(begin), x.shape(), x.shape()};
        for (int d = 0; d < x.rank(); d++) {
            const int64_t extent = x.shape()[d];
            const int64_t n = size[size_t(d)] == -1 ? extent - std::max<int64_t>(w.begin[d], 0)
                                                    : size[size_t(d)];
            if (w.begin[d] < 0 || n < 0 || w.begin[d] > extent || n > extent - w.begin[d]) {
                throw ShapeError("slice", "dimension " + std::to_string(d) + " begins at " +
                                              std::to_string(w.begin[d]) + " with size " +
                                              std::to_string(n) + ", expected within 0 to " +
                                              std::to_string(extent));
            }
            w.end[d] = w.begin[d] + n;
            w.step[d] = 1;
        }
        return {window_of(x, w)};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape begin = list(p, "begin");
        Shape s = list(p, "size");
        for (int d = 0; d < s.rank(); d++)
            s[d] = s[d] == -1 ? x[d] - begin[d] : s[d];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            for (int d = 0; d < s.rank(); d++)
                from[d] += begin[d];
            return from;
        });
    }
};

struct StridedSlice : Composite {
    StridedSlice()
        : Composite(
              "strided_slice", "x[*] -> y[*]",
              "elements begin, begin + stride, ... before end; negative ones count from the end") {
        at_call("begin", AttrKind::ints, "");
        at_call("end", AttrKind::ints, "");
        at_call("strides", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=7 begin=0,0,1 end=2,3,7 strides=1,2,3",
                   "d0=2 d1=3 d2=7 begin=1,-2,-100 end=2,-1,100"};
    }
    // Negative begins and ends count from the end, and both are clamped to the tensor, as in NumPy.
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Ints &begin = per_axis(call, "begin", x);
        const Ints &end = per_axis(call, "end", x);
        const Ints &given = call.ints("strides");
        const Ints strides = given.empty() ? Ints(size_t(x.rank()), 1)
                                           : per_axis(call, "strides", x);
        Window w{x.shape(), x.shape(), Shape(strides)};
        for (int d = 0; d < x.rank(); d++) {
            const int64_t extent = x.shape()[d];
            if (w.step[d] < 1) {
                throw AttrError("strided_slice", "stride " + std::to_string(d) + " is " +
                                                     std::to_string(w.step[d]) +
                                                     ", expected 1 or more");
            }
            auto place = [&](int64_t v) {
                return std::clamp<int64_t>(v < 0 ? v + extent : v, 0, extent);
            };
            w.begin[d] = place(begin[size_t(d)]);
            w.end[d] = std::max(w.begin[d], place(end[size_t(d)]));
        }
        return {window_of(x, w)};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape step = list(p, "strides");
        Shape begin = list(p, "begin");
        Shape end = list(p, "end");
        Shape s = begin;
        for (int d = 0; d < s.rank(); d++) {
            begin[d] = std::clamp<int64_t>(begin[d] < 0 ? begin[d] + x[d] : begin[d], 0, x[d]);
            end[d] = std::clamp<int64_t>(end[d] < 0 ? end[d] + x[d] : end[d], begin[d], x[d]);
            s[d] = 0;
            for (int64_t i = begin[d]; i < end[d]; i += step.empty() ? 1 : step[d])
                s[d]++;
        }
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            for (int d = 0; d < s.rank(); d++)
                from[d] = begin[d] + index[d] * (step.empty() ? 1 : step[d]);
            return from;
        });
    }
};

}  // namespace

Tensor composite::broadcast_to(const Tensor &x, const Shape &shape) {
    return run1("broadcast_to", {x}, {{"shape", Ints(shape.begin(), shape.end())}});
}

HALYARD_COMPOSITES {
    composites.add<Reshape>();
    composites.add<Transpose>();
    composites.add<Flatten>();
    composites.add<ExpandDims>();
    composites.add<Squeeze>();
    composites.add<BroadcastTo>();
    composites.add<Slice>();
    composites.add<StridedSlice>();
}

}  // namespace halyard
