#include "primitives/composites/scatter.h"

#include <vector>

#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/places.h"

namespace halyard {
namespace {

// The `inner` elements of x at each of `places`.
Tensor taken(const Tensor &x, const Tensor &places, int64_t inner, const Shape &shape) {
    if (shape.elements() == 0) return Tensor::zeros(shape, x.dtype());
    return reshaped(
        run1("gather_kernel",
             {reshaped(x, {1, x.elements() / inner, inner}), places, Tensor::scalar(0, x.dtype())},
             {{"all_within", true}}),
        shape);
}

// x after `updates`, runs of `inner` elements, met the runs at `places`, in order.
Tensor scattered(const char *op, const Tensor &x, const Tensor &places, const Tensor &updates,
                 int64_t inner, const std::string &reduction) {
    if (updates.dtype() != x.dtype()) {
        throw DTypeError(op, std::string("updates are ") + name_of(updates.dtype()) +
                                 ", expected " + name_of(x.dtype()) + " like x");
    }
    if (updates.elements() == 0) return alias_of(x);
    const Tensor y = run1("scatter_kernel",
                          {reshaped(x, {1, x.elements() / inner, inner}), places,
                           reshaped(updates, {1, places.elements(), inner})},
                          {{"reduction", reduction}});
    return reshaped(y, x.shape());
}

int64_t elements_from(const Shape &shape, int64_t axis) {
    int64_t n = 1;
    for (int d = int(axis); d < shape.rank(); d++)
        n *= shape[d];
    return n;
}

Result gather_elements(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Tensor &index = in[1];
    const int axis = normal_axis("gather_elements", integer(a, "dim"), x.rank());
    const Indices indices = indices_along("gather_elements", index, x.shape(), axis);
    const Shape s = index.shape();
    if (s.elements() == 0) return {Tensor::zeros(s, x.dtype())};
    Window corner{s, s, s};  // of x, as large as the index but for `axis`
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
    return {
        reshaped(run1("gather_elements_kernel",
                      {reshaped(from, {outer, n, inner}), indices.at.reshape({outer, m, inner})},
                      {{"some_negative", indices.some_negative}}),
                 s)};
}

// Index and update of element k: along one axis, in the shape of the index.
Result scatter(Tensors in, const Attrs &a) {
    const char *op = a.op().name.c_str();
    const Tensor &x = in[0];
    const Tensor &index = in[1];
    const Tensor &updates = in[2];
    const int axis = normal_axis(op, integer(a, "axis"), x.rank());
    if (!(updates.shape() == index.shape())) {
        throw ShapeError(op, "updates have shape " + updates.shape().text() + ", expected " +
                                 index.shape().text() + " as the index");
    }
    // scatter_add has none
    const std::string reduction = a.find("reduction") < 0 ? "add" : choice(a, "reduction");
    return {scattered(op, x, places_along(op, index, x.shape(), axis), updates, 1, reduction)};
}

// The shape of what `indices` name in a tensor of `shape`: theirs but for the last dimension, then
// what that leaves of `shape`.
Shape named_shape(const Tensor &indices, const Shape &shape) {
    Shape s(indices.shape().begin(), indices.shape().end() - 1);
    for (int d = int(indices.shape()[indices.rank() - 1]); d < shape.rank(); d++)
        s.push_back(shape[d]);
    return s;
}

Result gather_nd(Tensors in, const Attrs &) {
    const Tensor &x = in[0];
    const Tensor &indices = in[1];
    const Tensor places = places_nd("gather_nd", indices, x.shape());
    return {taken(x, places, elements_from(x.shape(), indices.shape()[indices.rank() - 1]),
                  named_shape(indices, x.shape()))};
}

Tensor scattered_nd(const char *op, const Tensor &x, const Tensor &indices, const Tensor &updates,
                    const std::string &reduction) {
    const Tensor places = places_nd(op, indices, x.shape());
    const Shape expected = named_shape(indices, x.shape());
    if (!(updates.shape() == expected)) {
        throw ShapeError(op, "updates have shape " + updates.shape().text() + ", expected " +
                                 expected.text());
    }
    return scattered(op, x, places, updates,
                     elements_from(x.shape(), indices.shape()[indices.rank() - 1]), reduction);
}

Result scatter_nd(Tensors in, const Attrs &a) {
    return {scattered_nd("scatter_nd", Tensor::zeros(Shape(ints(a, "shape")), in[1].dtype()), in[0],
                         in[1], "add")};
}
Result tensor_scatter_update(Tensors in, const Attrs &) {
    return {scattered_nd("tensor_scatter_update", in[0], in[1], in[2], "none")};
}
Result tensor_scatter_add(Tensors in, const Attrs &) {
    return {scattered_nd("tensor_scatter_add", in[0], in[1], in[2], "add")};
}
Result tensor_scatter_max(Tensors in, const Attrs &) {
    return {scattered_nd("tensor_scatter_max", in[0], in[1], in[2], "max")};
}
Result tensor_scatter_min(Tensors in, const Attrs &) {
    return {scattered_nd("tensor_scatter_min", in[0], in[1], in[2], "min")};
}
Result tensor_scatter_mul(Tensors in, const Attrs &) {
    return {scattered_nd("tensor_scatter_mul", in[0], in[1], in[2], "mul")};
}
Result tensor_scatter_sub(Tensors in, const Attrs &) {
    return {scattered_nd("tensor_scatter_sub", in[0], in[1], run1("neg", {in[2]}), "add")};
}

Result index_add(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Tensor &updates = in[2];
    const int axis = normal_axis("index_add", integer(a, "axis"), x.rank());
    Shape expected = x.shape();
    expected[axis] = in[1].elements();
    if (!(updates.shape() == expected)) {
        throw ShapeError("index_add",
                         "y has shape " + updates.shape().text() + ", expected " + expected.text());
    }
    if (updates.dtype() != x.dtype()) {
        throw DTypeError("index_add", std::string("y is ") + name_of(updates.dtype()) +
                                          ", expected " + name_of(x.dtype()) + " like x");
    }
    const Tensor places = places_of("index_add", in[1], x.shape()[axis]);
    if (updates.elements() == 0) return {alias_of(x)};
    const int64_t inner = elements_from(x.shape(), axis + 1);
    const int64_t n = x.shape()[axis];
    const int64_t outer = x.elements() / (n * inner);
    const Tensor y = run1("scatter_kernel",
                          {reshaped(x, {outer, n, inner}), places,
                           reshaped(updates, {outer, places.elements(), inner})},
                          {{"reduction", "add"}});
    return {reshaped(y, x.shape())};
}

// A negative id belongs to no segment, as in MindSpore.
Result unsorted_segment_sum(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Shape ids = in[1].shape();
    const int64_t segments = integer(a, "num_segments");
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
    const Tensor places = in[1].to(DType::i32);
    for (int64_t k = 0; k < places.elements(); k++) {
        if (const int32_t id = places.data<int32_t>()[k]; id >= segments) {
            throw ShapeError("unsorted_segment_sum",
                             "segment id " + std::to_string(k) + " is " + std::to_string(id) +
                                 ", expected less than num_segments " + std::to_string(segments));
        }
    }
    Shape s{segments};
    for (int d = ids.rank(); d < x.rank(); d++)
        s.push_back(x.shape()[d]);
    return {scattered("unsorted_segment_sum", Tensor::zeros(s, x.dtype()),
                      places.reshape({places.elements()}), x, elements_from(s, 1), "add")};
}

enum Reduction { none, add, max, min };

Tensor gathered(const Tensor &x, const Tensor &index) {
    return run1("gather_kernel", {x, index, Tensor::scalar(0, x.dtype())});
}
Tensor scattered(const Tensor &x, const Tensor &index, const Tensor &updates,
                 const char *reduction) {
    return run1("scatter_kernel", {x, index, updates}, {{"reduction", reduction}});
}

// Of places that stand several times, the last keeps its own; the others become -1, which is
// nowhere.
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

// 1 where `t` is the extremum `y`, else 0, and dy over the number of those that are.
Tensor is_extremum(const Tensor &t, const Tensor &y) {
    return cast_to(run1("equal", {t, y}), y.dtype());
}
Tensor share(std::span<const Tensor> in) {
    const Tensor &x = in[0];
    const Tensor &index = in[1];
    const Tensor &updates = in[2];
    const Tensor &y = in[3];
    const Tensor &dy = in[4];
    const Tensor several = scattered(is_extremum(x, y), index,
                                     is_extremum(updates, gathered(y, index)), "add");
    return run1("div", {dy, run1("maximum", {several, Tensor::scalar(1, dy.dtype())})});
}
int64_t differentiable(const Attrs &attrs) {
    const int64_t reduction = integer(attrs, "reduction");
    if (reduction > min) throw GradError("scatter", "has no gradient for reduction mul");
    return reduction;
}

}  // namespace

Tensor scatter_in_x(std::span<const Tensor> in, const RegisteredOp &, const Attrs &attrs) {
    const int64_t reduction = differentiable(attrs);
    if (reduction == add) return in[4];
    if (reduction == none)
        return scattered(in[4], in[1], Tensor::zeros(in[2].shape(), in[4].dtype()), "none");
    return run1("mul", {is_extremum(in[0], in[3]), share(in)});
}

Tensor scatter_in_updates(std::span<const Tensor> in, const RegisteredOp &, const Attrs &attrs) {
    const int64_t reduction = differentiable(attrs);
    if (reduction == add) return gathered(in[4], in[1]);
    if (reduction == none) return gathered(in[4], last_of_each(in[1], in[0].shape()[1]));
    return run1("mul", {is_extremum(in[2], gathered(in[3], in[1])), gathered(share(in), in[1])});
}

Family scatter_family() {
    static const Family::value_type all[] = {{"gather_elements", gather_elements},
                                             {"gather_nd", gather_nd},
                                             {"tensor_scatter_elements", scatter},
                                             {"scatter", scatter},
                                             {"scatter_add", scatter},
                                             {"scatter_nd", scatter_nd},
                                             {"tensor_scatter_update", tensor_scatter_update},
                                             {"tensor_scatter_add", tensor_scatter_add},
                                             {"tensor_scatter_sub", tensor_scatter_sub},
                                             {"tensor_scatter_max", tensor_scatter_max},
                                             {"tensor_scatter_min", tensor_scatter_min},
                                             {"tensor_scatter_mul", tensor_scatter_mul},
                                             {"index_add", index_add},
                                             {"unsorted_segment_sum", unsorted_segment_sum}};
    return all;
}

}  // namespace halyard
