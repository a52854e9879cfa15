#include "primitives/composites/concat.h"

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/rows.h"

namespace halyard {
namespace {

// Returns the window of `shape` that is [from, to) along one axis and everything along the others.
Window part(const Shape &shape, int axis, int64_t from, int64_t to) {
    Window w{shape, shape, shape};
    for (int d = 0; d < shape.rank(); d++) {
        w.begin[d] = 0;
        w.step[d] = 1;
    }
    w.begin[axis] = from;
    w.end[axis] = to;
    return w;
}

// Returns the views part(0), part(1), ... of x as one entry of the tape, whose gradients `join`
// puts together. With an entry for each view, each gradient would become a tensor of x's shape with
// zeros around it.
template<class Part, class Join>
std::vector<Tensor> recorded_parts(const Tensor &x, int64_t count, const Part &part_of, Join join) {
    std::vector<Tensor> parts;
    {
        const StopTape stop;
        for (int64_t k = 0; k < count; k++)
            parts.push_back(part_of(k));
    }
    if (Tape *tape = Tape::current(); tape && is_float(x.dtype())) {
        tape->record({x}, parts, [join](std::span<const Tensor> dy) {
            return std::vector<Tensor>{join({dy.begin(), dy.end()})};
        });
    }
    return parts;
}

}  // namespace

Tensor F::concat(const std::vector<Tensor> &x, int axis) {
    if (x.empty()) throw ShapeError("concat", "takes at least one tensor, got none");
    require_defined("concat", x);
    const Tensor &first = x[0];
    const int a = normal_axis("concat", axis, first.rank());
    Shape shape = first.shape();
    shape[a] = 0;
    for (size_t k = 0; k < x.size(); k++) {
        const std::string who = "x" + std::to_string(k);
        if (x[k].dtype() != first.dtype()) {
            throw DTypeError("concat", who + " is " + name_of(x[k].dtype()) + ", expected " +
                                           name_of(first.dtype()));
        }
        if (x[k].rank() != first.rank()) {
            throw ShapeError("concat", who + " has rank " + std::to_string(x[k].rank()) +
                                           ", expected " + std::to_string(first.rank()));
        }
        for (int d = 0; d < shape.rank(); d++) {
            if (d != a && x[k].shape()[d] != shape[d]) {
                throw ShapeError("concat", who + " dimension " + std::to_string(d) + " is " +
                                               std::to_string(x[k].shape()[d]) + ", expected " +
                                               std::to_string(shape[d]));
            }
        }
        shape[a] += x[k].shape()[a];
    }
    Tensor y = Tensor::empty(shape, first.dtype());
    by_rows(shape, a > 0, [&](auto some) {
        int64_t from = 0;
        for (const Tensor &t : x) {
            some(y).slice(a, from, from + t.shape()[a]).assign(some(t));
            from += t.shape()[a];
        }
    });
    if (Tape *tape = Tape::current()) {
        std::vector<int64_t> extents;
        for (const Tensor &t : x)
            extents.push_back(t.shape()[a]);
        tape->record(x, {y}, [a, extents](std::span<const Tensor> dy) {
            std::vector<Tensor> dx;
            int64_t at = 0;
            for (int64_t n : extents) {
                dx.push_back(window_of(dy[0], part(dy[0].shape(), a, at, at + n)));
                at += n;
            }
            return dx;
        });
    }
    return y;
}

Tensor F::stack(const std::vector<Tensor> &x, int axis) {
    if (x.empty()) throw ShapeError("stack", "takes at least one tensor, got none");
    require_defined("stack", x);
    const int a = normal_axis("stack", axis, x[0].rank() + 1);
    if (x[0].rank() == max_rank) throw ShapeError("stack", "x0 has rank 8, expected at most 7");
    std::vector<Tensor> rows;
    for (size_t k = 0; k < x.size(); k++) {
        Shape shape = x[k].shape();
        if (!(shape == x[0].shape())) {
            throw ShapeError("stack", "x" + std::to_string(k) + " has shape " + shape.text() +
                                          ", expected " + x[0].shape().text());
        }
        shape.insert(a, 1);
        rows.push_back(reshaped(x[k], shape));
    }
    return concat(rows, a);
}

std::vector<Tensor> F::split(const Tensor &x, int axis, int output_num) {
    require_defined("split", {&x, 1});
    const int a = normal_axis("split", axis, x.rank());
    const int64_t extent = x.shape()[a];
    if (output_num < 1 || extent % output_num) {
        throw ShapeError("split",
                         "dimension " + std::to_string(a) + " is " + std::to_string(extent) +
                             ", expected a multiple of output_num " + std::to_string(output_num));
    }
    const int64_t n = extent / output_num;
    return recorded_parts(
        x, output_num,
        [&](int64_t k) { return window_of(x, part(x.shape(), a, k * n, (k + 1) * n)); },
        [a](const std::vector<Tensor> &dy) { return F::concat(dy, a); });
}

std::vector<Tensor> F::unstack(const Tensor &x, int axis) {
    require_defined("unstack", {&x, 1});
    const int a = normal_axis("unstack", axis, x.rank());
    Shape row = x.shape();
    row.erase(a);
    return recorded_parts(
        x, x.shape()[a],
        [&](int64_t k) { return reshaped(window_of(x, part(x.shape(), a, k, k + 1)), row); },
        [a](const std::vector<Tensor> &dy) { return F::stack(dy, a); });
}

std::vector<Tensor> F::broadcast_tensors(const std::vector<Tensor> &x) {
    require_defined("broadcast_tensors", x);
    Shape shape;
    for (const Tensor &t : x)
        shape = broadcast("broadcast_tensors", shape, t.shape());
    std::vector<Tensor> views;
    for (const Tensor &t : x)
        views.push_back(broadcast_view(t, shape));
    return views;
}

std::vector<Tensor> F::meshgrid(const std::vector<Tensor> &x, const std::string &indexing) {
    if (indexing != "xy" && indexing != "ij")
        throw AttrError("meshgrid", "indexing is '" + indexing + "', expected xy or ij");
    if (x.empty() || x.size() > size_t(max_rank)) {
        throw ShapeError("meshgrid", "takes 1 to " + std::to_string(max_rank) + " tensors, got " +
                                         std::to_string(x.size()));
    }
    require_defined("meshgrid", x);
    const bool swapped = indexing == "xy" && x.size() > 1;
    const auto dimension = [&](size_t k) { return swapped && k < 2 ? 1 - int(k) : int(k); };
    Shape all, ones;
    for (size_t k = 0; k < x.size(); k++) {
        all.push_back(1);
        ones.push_back(1);
    }
    for (size_t k = 0; k < x.size(); k++) {
        if (x[k].rank() > 1) {
            throw ShapeError("meshgrid", "x" + std::to_string(k) + " has rank " +
                                             std::to_string(x[k].rank()) + ", expected 1");
        }
        all[dimension(k)] = x[k].elements();
    }
    std::vector<Tensor> grids;
    for (size_t k = 0; k < x.size(); k++) {
        Shape line = ones;
        line[dimension(k)] = x[k].elements();
        grids.push_back(broadcast_view(reshaped(x[k], line), all));
    }
    return grids;
}

}  // namespace halyard
