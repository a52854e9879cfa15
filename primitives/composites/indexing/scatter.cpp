// Ops that write elements to places given by a tensor, or read them from there. One kernel applies
// the updates in their order, so the bits are the same with any number of threads.
#include "primitives/composites/composite.h"

#include <cmath>
#include <vector>

#include "primitives/composites/places.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/gather.h"
#include "primitives/ops/scatter_kernel.h"

namespace halyard {
namespace {

using Reduction = F::ScatterReduction;

// Returns the element after an update. NaN is beyond all numbers.
double met(Reduction::Name reduction, double old, double update) {
    if (reduction == Reduction::none) return update;
    if (reduction == Reduction::add) return old + update;
    if (reduction == Reduction::mul) return old * update;
    if (std::isnan(old) || std::isnan(update)) return NAN;
    return reduction == Reduction::max ? std::fmax(old, update) : std::fmin(old, update);
}

// Returns the `inner` elements of x at each of `places`.
Tensor taken(const Tensor &x, const Tensor &places, int64_t inner, const Shape &shape) {
    if (shape.elements() == 0) return Tensor::zeros(shape, x.dtype());
    return reshaped(kernel::gather(reshaped(x, {1, x.elements() / inner, inner}), places,
                                   Tensor::scalar(0, x.dtype()), true),
                    shape);
}

// Returns x after `updates`, runs of `inner` elements, were combined with the runs at `places`, in
// their order.
Tensor scattered(const char *op, const Tensor &x, const Tensor &places, const Tensor &updates,
                 int64_t inner, Reduction::Name reduction) {
    if (updates.dtype() != x.dtype()) {
        throw DTypeError(op, std::string("updates are ") + name_of(updates.dtype()) +
                                 ", expected " + name_of(x.dtype()) + " like x");
    }
    if (updates.elements() == 0) return alias_of(x);
    const Tensor y = kernel::scatter(reshaped(x, {1, x.elements() / inner, inner}), places,
                                     reshaped(updates, {1, places.elements(), inner}), reduction);
    return reshaped(y, x.shape());
}

int64_t elements_from(const Shape &shape, int64_t axis) {
    int64_t n = 1;
    for (int d = int(axis); d < shape.rank(); d++)
        n *= shape[d];
    return n;
}

// Returns the shape of the elements of a tensor of `shape` that `indices` name: all of the indices'
// dimensions but the last, then those of `shape` that the indices don't select.
Shape named_shape(const Tensor &indices, const Shape &shape) {
    Shape s(indices.shape().begin(), indices.shape().end() - 1);
    for (int d = int(indices.shape()[indices.rank() - 1]); d < shape.rank(); d++)
        s.push_back(shape[d]);
    return s;
}

Tensor scattered_nd(const char *op, const Tensor &x, const Tensor &indices, const Tensor &updates,
                    Reduction::Name reduction) {
    const Tensor places = places_nd(op, indices, x.shape());
    const Shape expected = named_shape(indices, x.shape());
    if (!(updates.shape() == expected)) {
        throw ShapeError(op, "updates have shape " + updates.shape().text() + ", expected " +
                                 expected.text());
    }
    return scattered(op, x, places, updates,
                     elements_from(x.shape(), indices.shape()[indices.rank() - 1]), reduction);
}

// Returns the row-major index, in a tensor of shape `in`, of the element with the coordinates of
// element `e` of a tensor of `shape`, but with coordinate `at` along `axis`.
int64_t place_along(int64_t e, const Shape &shape, const Shape &in, int axis, int64_t at) {
    Shape index = shape;
    for (int d = shape.rank(); d-- > 0; e /= shape[d])
        index[d] = e % shape[d];
    index[axis] = at < 0 ? at + in[axis] : at;
    int64_t place = 0;
    for (int d = 0; d < in.rank(); d++)
        place = place * in[d] + index[d];
    return place;
}

struct GatherElements : Composite {
    GatherElements()
        : Composite("gather_elements", "x[*] index:i32[*] -> y[*]",
                    "y[i, j, ...] = x[index[i, j, ...], j, ...], of index's shape, where index "
                    "takes i's place for dim 0, j's for dim 1, ...; index may be "
                    "smaller than x; negative ones count from the end") {
        alias = "GatherD";
        required_at_call("dim", AttrKind::integer);
        let("index_end", "min(d0,min(d1,d2))");
        samples = {"d0=1 d1=1 d2=1 dim=0", "d0=2 d1=3 d2=5 dim=0", "d0=4 d1=3 d2=17 dim=1",
                   "d0=7 d1=2 d2=33 dim=-1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &index = call[1];
        const int axis = normal_axis("gather_elements", call.integer("dim"), x.rank());
        const Indices indices = indices_along("gather_elements", index, x.shape(), axis);
        const Shape s = index.shape();
        if (s.elements() == 0) return {Tensor::zeros(s, x.dtype())};
        Window corner{s, s, s};  // The part of x that has the index's extents but for `axis`.
        int64_t outer = 1;
        for (int d = 0; d < s.rank(); d++) {
            corner.begin[d] = 0;
            corner.end[d] = d == axis ? x.shape()[d] : s[d];
            corner.step[d] = 1;
            if (d < axis) outer *= s[d];
        }
        const Tensor from = corner.end == x.shape() ? x : window_of(x, corner);
        const int64_t n = x.shape()[axis];
        const int64_t m = s[axis];
        const int64_t inner = s.elements() / (outer * m);
        return {reshaped(kernel::gather_elements(reshaped(from, {outer, n, inner}),
                                                 indices.at.reshape({outer, m, inner}),
                                                 indices.some_negative),
                         s)};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &index = p("index");
        Array y(index.shape);
        for (size_t e = 0; e < y.v.size(); e++) {
            y.v[e] =
                x.v[size_t(place_along(int64_t(e), index.shape, x.shape,
                                       wrapped(p["dim"], x.shape.rank()), int64_t(index.v[e])))];
        }
        p.tensors["y"] = y;
    }
};

// The base of ops that scatter_kernel computes.
struct Scattering : Composite {
    Scattering(const std::string &n, const std::string &signature, const std::string &formula)
        : Composite(n, signature, formula) {
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"};
        contract = {Contract::products, 8};
    }
    // Combines element `at` of y with an update.
    static void meet(Problem &p, Reduction::Name reduction, int64_t at, double update) {
        double &y = p("y").v[size_t(at)];
        double &size = p.abs_sum.at("y").v[size_t(at)];
        y = met(reduction, y, update);
        size = reduction == Reduction::add ? size + std::fabs(update) : std::fabs(y);
    }
    static void start(Problem &p, const Array &x) {
        p.tensors["y"] = p.abs_sum["y"] = x;
        for (double &v : p.abs_sum["y"].v)
            v = std::fabs(v);
    }
};

struct ScatterElements : Scattering {
    const std::string updates;
    const bool adds;
    ScatterElements(const std::string &n, const std::string &update_name, bool only_adds)
        : Scattering(n, "x[*] index:i32[*] " + update_name + "[*] -> y[*]",
                     std::string("y = x; then y[index[i, j, ...], j, ...] ") +
                         (only_adds ? "+=" : "meets") + " " + update_name +
                         "[i, j, ...], in order, where index takes i's place for axis 0, j's for "
                         "axis 1, ...; negative ones count from the end"),
          updates(update_name), adds(only_adds) {
        at_call("axis", AttrKind::integer, "0");
        if (!adds) choice_at_call<Reduction>("reduction");
        let("index_end", "min(d0,min(d1,d2))");
        samples = {"d0=1 d1=1 d2=1", "d0=4 d1=3 d2=5", "d0=7 d1=2 d2=17 axis=-1",
                   "d0=3 d1=7 d2=33 axis=1"};
        if (adds) return;
        for (const char *reduction : {"add", "max", "min"})
            samples.push_back(std::string("d0=5 d1=3 d2=5 axis=1 reduction=") + reduction);
        samples.push_back("d0=3 d1=4 d2=3 reduction=mul");
    }
    Result compose(const Call &call) const override {
        const char *op = call.op().c_str();
        const Tensor &x = call[0];
        const Tensor &index = call[1];
        const Tensor &updates = call[2];
        const int axis = normal_axis(op, call.integer("axis"), x.rank());
        if (!(updates.shape() == index.shape())) {
            throw ShapeError(op, "updates have shape " + updates.shape().text() + ", expected " +
                                     index.shape().text() + " as the index");
        }
        const auto reduction = adds ? Reduction::add : Reduction::Name(call.integer("reduction"));
        return {scattered(op, x, places_along(op, index, x.shape(), axis), updates, 1, reduction)};
    }
    void reference(Problem &p) const override {
        start(p, p("x"));
        const Array &index = p("index");
        for (size_t e = 0; e < index.v.size(); e++) {
            const Shape &x = p("x").shape;
            const int64_t at = place_along(int64_t(e), index.shape, x, wrapped(p["axis"], x.rank()),
                                           int64_t(index.v[e]));
            meet(p, adds ? Reduction::add : Reduction::Name(p["reduction"]), at, p(updates).v[e]);
        }
    }
};

// Indices of the samples are one number each, so they select rows of x.
struct GatherNd : Composite {
    GatherNd()
        : Composite("gather_nd", "x[*] indices:i32[m,q] -> y[*]",
                    "y[i, ...] = x[indices[i, 0], indices[i, 1], ..., ...]; negative ones count "
                    "from the end") {
        let("indices_end", "d0");
        samples = {"d0=1 d1=1 d2=1 m=1 q=1", "d0=5 d1=3 d2=4 m=7 q=1", "d0=3 d1=1 d2=17 m=2 q=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &indices = call[1];
        const Tensor places = places_nd("gather_nd", indices, x.shape());
        return {taken(x, places, elements_from(x.shape(), indices.shape()[indices.rank() - 1]),
                      named_shape(indices, x.shape()))};
    }
    void reference(Problem &p) const override {
        Shape s = p("x").shape;
        s[0] = p["m"];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            from[0] = int64_t(p("indices")(index[0], int64_t(0)));
            return from;
        });
    }
};

struct ScatterNd : Scattering {
    ScatterNd()
        : Scattering("scatter_nd", "indices:i32[m,q] updates[*] -> y[*]",
                     "y = 0, of `shape`; then y[indices[i, 0], indices[i, 1], ...] += updates[i, "
                     "...], in order") {
        required_at_call("shape", AttrKind::ints);
        samples = {"m=1 q=1 d0=1 d1=1 d2=1 shape=7,1,1", "m=13 q=1 d0=13 d1=3 d2=2 shape=7,3,2",
                   "m=2 q=1 d0=2 d1=1 d2=17 shape=8,1,17"};
    }
    Result compose(const Call &call) const override {
        return {scattered_nd("scatter_nd",
                             Tensor::zeros(Shape(call.ints("shape")), call[1].dtype()), call[0],
                             call[1], Reduction::add)};
    }
    void reference(Problem &p) const override {
        start(p, Array(list(p, "shape")));
        const Array &updates = p("updates");
        const int64_t inner = updates.shape[1] * updates.shape[2];
        for (int64_t e = 0; e < int64_t(updates.v.size()); e++) {
            meet(p, Reduction::add,
                 int64_t(p("indices")(e / inner, int64_t(0))) * inner + e % inner,
                 updates.v[size_t(e)]);
        }
    }
};

struct TensorScatter : Scattering {
    const Reduction::Name reduction;
    const double sign;
    TensorScatter(const std::string &n, const std::string &what, Reduction::Name mode,
                  double factor)
        : Scattering(n, "x[*] indices:i32[m,q] updates[*] -> y[*]",
                     "y = x; then y[indices[i, 0], indices[i, 1], ...] " + what +
                         " updates[i, ...], in order"),
          reduction(mode), sign(factor) {
        let("indices_end", "d0");
        samples = {"d0=1 d1=1 d2=1 m=1 q=1", "d0=5 d1=3 d2=4 m=5 q=1", "d0=3 d1=1 d2=17 m=3 q=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor updates = sign < 0 ? -call[2] : call[2];
        return {scattered_nd(name.c_str(), call[0], call[1], updates, reduction)};
    }
    void reference(Problem &p) const override {
        start(p, p("x"));
        const Array &updates = p("updates");
        const int64_t inner = updates.shape[1] * updates.shape[2];
        for (int64_t e = 0; e < int64_t(updates.v.size()); e++) {
            meet(p, reduction, int64_t(p("indices")(e / inner, int64_t(0))) * inner + e % inner,
                 sign * updates.v[size_t(e)]);
        }
    }
};

struct IndexAdd : Scattering {
    IndexAdd()
        : Scattering("index_add", "x[*] indices:i32[m] y[*] -> out[*]",
                     "out = x; then out's slice indices[k] along axis += y's slice k, in order") {
        required_at_call("axis", AttrKind::integer);
        let("indices_end", "min(d0,min(d1,d2))");
        samples = {"d0=1 d1=1 d2=1 m=1 axis=0", "d0=5 d1=3 d2=2 m=5 axis=0",
                   "d0=3 d1=4 d2=17 m=4 axis=1", "d0=2 d1=3 d2=33 m=33 axis=-1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &updates = call[2];
        const int axis = normal_axis("index_add", call.integer("axis"), x.rank());
        Shape expected = x.shape();
        expected[axis] = call[1].elements();
        if (!(updates.shape() == expected)) {
            throw ShapeError("index_add", "y has shape " + updates.shape().text() + ", expected " +
                                              expected.text());
        }
        if (updates.dtype() != x.dtype()) {
            throw DTypeError("index_add", std::string("y is ") + name_of(updates.dtype()) +
                                              ", expected " + name_of(x.dtype()) + " like x");
        }
        const Tensor places = places_of("index_add", call[1], x.shape()[axis]);
        if (updates.elements() == 0) return {alias_of(x)};
        const int64_t inner = elements_from(x.shape(), axis + 1);
        const int64_t n = x.shape()[axis];
        const int64_t outer = x.elements() / (n * inner);
        const Tensor y = kernel::scatter(reshaped(x, {outer, n, inner}), places,
                                         reshaped(updates, {outer, places.elements(), inner}),
                                         Reduction::add);
        return {reshaped(y, x.shape())};
    }
    void reference(Problem &p) const override {
        const Array x = p("x"), added = p("y");
        const int axis = wrapped(p["axis"], x.shape.rank());
        Array out = x;
        Array size = x;
        for (double &v : size.v)
            v = std::fabs(v);
        for (size_t e = 0; e < added.v.size(); e++) {
            int64_t k = int64_t(e);
            for (int d = x.shape.rank(); d-- > axis + 1;)
                k /= added.shape[d];
            const size_t at = size_t(place_along(int64_t(e), added.shape, x.shape, axis,
                                                 int64_t(p("indices")(k % added.shape[axis]))));
            out.v[at] += added.v[e];
            size.v[at] += std::fabs(added.v[e]);
        }
        p.tensors["out"] = out;
        p.abs_sum["out"] = size;
    }
};

struct UnsortedSegmentSum : Scattering {
    UnsortedSegmentSum()
        : Scattering("unsorted_segment_sum", "x[*] segment_ids:i32[*] -> y[*]",
                     "y[s, ...] = the sum of x[i, ...] over the i whose segment_ids[i] is s, in "
                     "order; a negative id is in no segment") {
        required_at_call("num_segments", AttrKind::integer);
        let("segment_ids_end", "num_segments");
        samples = {"d0=1 d1=1 d2=1 num_segments=1", "d0=7 d1=3 d2=2 num_segments=5",
                   "d0=2 d1=1 d2=17 num_segments=40"};
    }
    // A negative id belongs to no segment, as in MindSpore.
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Shape ids = call[1].shape();
        const int64_t segments = call.integer("num_segments");
        if (segments < 1) {
            throw AttrError("unsorted_segment_sum",
                            "num_segments is " + std::to_string(segments) + ", expected 1 or more");
        }
        bool prefix = ids.rank() <= x.rank();
        for (int d = 0; prefix && d < ids.rank(); d++)
            prefix = ids[d] == x.shape()[d];
        if (!prefix) {
            throw ShapeError("unsorted_segment_sum", "segment_ids have shape " + ids.text() +
                                                         ", expected the first dimensions of x" +
                                                         x.shape().text());
        }
        const Tensor places = call[1].to(DType::i32);
        for (int64_t k = 0; k < places.elements(); k++) {
            if (const int32_t id = places.data<int32_t>()[k]; id >= segments) {
                throw ShapeError("unsorted_segment_sum", "segment id " + std::to_string(k) +
                                                             " is " + std::to_string(id) +
                                                             ", expected less than num_segments " +
                                                             std::to_string(segments));
            }
        }
        Shape s{segments};
        for (int d = ids.rank(); d < x.rank(); d++)
            s.push_back(x.shape()[d]);
        return {scattered("unsorted_segment_sum", Tensor::zeros(s, x.dtype()),
                          places.reshape({places.elements()}), x, elements_from(s, 1),
                          Reduction::add)};
    }
    void reference(Problem &p) const override {
        start(p, Array({p["num_segments"]}));
        for (size_t e = 0; e < p("x").v.size(); e++)
            meet(p, Reduction::add, int64_t(p("segment_ids").v[e]), p("x").v[e]);
    }
};

Tensor gathered(const Tensor &x, const Tensor &index) {
    return kernel::gather(x, index, Tensor::scalar(0, x.dtype()));
}

// Returns `index` with -1, which is ignored, in place of each index that occurs again later.
Tensor last_of_each(const Tensor &index, int64_t n) {
    std::vector<bool> met(static_cast<size_t>(n), false);
    const Tensor last = index.copy();
    for (int64_t k = last.elements(); k-- > 0;) {
        int32_t &at = last.data<int32_t>()[k];
        if (at < 0 || at >= n) continue;
        if (met[size_t(at)])
            at = -1;
        else
            met[size_t(at)] = true;
    }
    return last;
}

// Returns 1 where `t` is the extremum `y`, else 0.
Tensor is_extremum(const Tensor &t, const Tensor &y) {
    return cast_to(F::equal(t, y), y.dtype());
}

Tensor share(Tensors in) {
    const Tensor &x = in[0];
    const Tensor &index = in[1];
    const Tensor &updates = in[2];
    const Tensor &y = in[3];
    const Tensor &dy = in[4];
    const Tensor several = kernel::scatter(
        is_extremum(x, y), index, is_extremum(updates, gathered(y, index)), Reduction::add);
    return dy / F::maximum(several, 1);
}

Reduction::Name differentiable(const Attrs &attrs) {
    const auto reduction = Reduction::Name(integer(attrs, "reduction"));
    if (reduction == Reduction::mul)
        throw GradError("scatter", "has no gradient for reduction mul");
    return reduction;
}

// Gradients of scatter_kernel. in = {x, index, updates, y, dy}. An update that was overwritten has
// none. If several elements are the maximum or minimum, they share the gradient equally. Throw
// GradError for products.
Tensor scatter_in_x(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    const Reduction::Name reduction = differentiable(attrs);
    if (reduction == Reduction::add) return in[4];
    if (reduction == Reduction::none) {
        const Tensor zeros = Tensor::zeros(in[2].shape(), in[4].dtype());
        return kernel::scatter(in[4], in[1], zeros, Reduction::none);
    }
    return is_extremum(in[0], in[3]) * share(in);
}

Tensor scatter_in_updates(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    const Reduction::Name reduction = differentiable(attrs);
    if (reduction == Reduction::add) return gathered(in[4], in[1]);
    if (reduction == Reduction::none) return gathered(in[4], last_of_each(in[1], in[0].shape()[1]));
    return is_extremum(in[2], gathered(in[3], in[1])) * gathered(share(in), in[1]);
}

// gather_elements_kernel_dx adds dy at the places of `index`; its adjoint in dy reads them again.
Tensor elements_gathered(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    return kernel::gather_elements(in[1], in[0], is_set(attrs, "some_negative"));
}

}  // namespace

HALYARD_COMPOSITES {
    composites.add<GatherElements>();
    composites.add<GatherNd>();
    composites.add<ScatterElements>("tensor_scatter_elements", "updates", false);
    composites.add<ScatterElements>("scatter", "src", false);
    composites.add<ScatterElements>("scatter_add", "src", true);
    composites.add<ScatterNd>();
    composites.add<TensorScatter>("tensor_scatter_update", "=", Reduction::none, 1.0);
    composites.add<TensorScatter>("tensor_scatter_add", "+=", Reduction::add, 1.0);
    composites.add<TensorScatter>("tensor_scatter_sub", "-=", Reduction::add, -1.0);
    composites.add<TensorScatter>("tensor_scatter_max", "= the larger of it and", Reduction::max,
                                  1.0);
    composites.add<TensorScatter>("tensor_scatter_min", "= the smaller of it and", Reduction::min,
                                  1.0);
    composites.add<TensorScatter>("tensor_scatter_mul", "*=", Reduction::mul, 1.0);
    composites.add<IndexAdd>();
    composites.add<UnsortedSegmentSum>();
    const std::vector<std::string> all = {"x", "index", "updates", "y", "dy"};
    composites.gradient({"scatter_kernel", "x", all, scatter_in_x});
    composites.gradient({"scatter_kernel", "updates", all, scatter_in_updates});
    composites.gradient({"gather_elements_kernel_dx", "x", {}, no_gradient});
    composites.gradient({"gather_elements_kernel_dx", "dy", {"index", "ddx"}, elements_gathered});
}

}  // namespace halyard
