#include "primitives/composites/sorting.h"

#include <algorithm>
#include <numeric>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/order.h"
#include "registry/tensor/pool_allocator.h"

namespace halyard {
namespace {

// The permutation that makes `axis` the last, or the last one `axis` again: it is its own inverse.
std::vector<int> swapped(int axis, int rank) {
    std::vector<int> p(static_cast<size_t>(rank));
    std::iota(p.begin(), p.end(), 0);
    std::swap(p[size_t(axis)], p.back());
    return p;
}

// x as dense rows [n,c] along `axis`, differentiable, and results with rows of m, or without the
// axis, in x's layout again.
struct AlongAxis {
    AlongAxis(const char *op, const Tensor &x, int64_t given)
        : axis(normal_axis(op, given, x.rank())), turn(swapped(axis, x.rank())), shape(x.shape()) {
        const int64_t c = shape[axis];
        std::swap(shape[axis], shape[shape.rank() - 1]);
        n = 1;
        for (int d = 0; d + 1 < shape.rank(); d++)
            n *= shape[d];
        const Tensor y = reshaped(transposed(x, turn), {n, c});
        rows = y.dense() ? y : run1("copy", {y});
    }
    Tensor back(const Tensor &y) const {  // y[n,m]
        Shape s = shape;
        s[s.rank() - 1] = y.shape()[1];
        return transposed(reshaped(y, s), turn);
    }
    Tensor back(const Tensor &y, bool keep_dims) const {  // y[n,1]
        const Tensor kept = back(y);
        if (keep_dims) return kept;
        Shape s = kept.shape();
        s.erase(axis);
        return reshaped(kept, s);
    }
    const int axis;
    const std::vector<int> turn;
    Shape shape;  // with the axis last
    int64_t n = 0;
    Tensor rows;
};

// x's elements at `places` of its rows: [n,m]
Tensor taken(const Tensor &x, const Tensor &places) {
    const int64_t n = x.shape()[0];
    const int64_t m = places.shape()[1];
    return reshaped(run1("gather_elements_kernel",
                         {reshaped(x, {n, x.shape()[1], 1}), places.reshape({n, m, 1})}),
                    {n, m});
}

// values[n,m] are x[n,c]'s elements at `places`: their gradient goes there.
Tensor recorded(const Tensor &x, const Tensor &values, const Tensor &places) {
    if (Tape *tape = Tape::current(); tape && is_float(x.dtype())) {
        tape->record({x}, {values},
                     [x, places](Tensors dy) { return Result{added_along(x, 1, places, dy[0])}; });
    }
    return values;
}

Ordered first(const AlongAxis &a, int64_t k, bool descending) {
    const Ordered y = first_in_order(a.rows, k, descending);
    return {recorded(a.rows, y.values, y.places), y.places};
}

Result sort(Tensors in, const Attrs &a) {
    const AlongAxis x("sort", in[0], integer(a, "axis"));
    const Ordered y = first(x, x.rows.shape()[1], is_set(a, "descending"));
    return {x.back(y.values), x.back(y.places)};
}
Result argsort(Tensors in, const Attrs &a) {
    const AlongAxis x("argsort", in[0], integer(a, "axis"));
    return {x.back(first_in_order(x.rows, x.rows.shape()[1], is_set(a, "descending")).places)};
}

Result top_k(Tensors in, const Attrs &a) {
    const AlongAxis x("top_k", in[0], integer(a, "dim"));
    const int64_t k = integer(a, "k");
    const int64_t c = x.rows.shape()[1];
    if (k < 0 || k > c) {
        throw AttrError("top_k", "k is " + std::to_string(k) + ", expected 0 to " +
                                     std::to_string(c) + ", the extent of dimension " +
                                     std::to_string(x.axis) + " of x" + in[0].shape().text());
    }
    const Ordered y = first(x, k, is_set(a, "largest"));
    return {x.back(y.values), x.back(y.places)};
}

void require_some(const char *op, const AlongAxis &x, const Tensor &given) {
    if (x.rows.shape()[1] == 0) {
        throw ShapeError(op, "dimension " + std::to_string(x.axis) + " of x" +
                                 given.shape().text() + " is 0, expected 1 or more");
    }
}

Result median(Tensors in, const Attrs &a) {
    const AlongAxis x("median", in[0], integer(a, "axis"));
    require_some("median", x, in[0]);
    const bool keep = is_set(a, "keep_dims");
    const Ordered y = nth_in_order(x.rows, (x.rows.shape()[1] - 1) / 2);
    const Tensor values = y.values.reshape({x.n, 1});
    const Tensor places = y.places.reshape({x.n, 1});
    return {x.back(recorded(x.rows, values, places), keep), x.back(places, keep)};
}

template<bool largest> Result arg_with_value(Tensors in, const Attrs &a) {
    const char *op = largest ? "argmax_with_value" : "argmin_with_value";
    const AlongAxis x(op, in[0], integer(a, "axis"));
    require_some(op, x, in[0]);
    const bool keep = is_set(a, "keep_dims");
    const Tensor places = run1(largest ? "argmax" : "argmin", {x.rows}).reshape({x.n, 1});
    return {x.back(places, keep), x.back(taken(x.rows, places), keep)};
}

// Equal elements stand together once sorted: groups, numbered in order. As they first occur, their
// numbers are given out again.
Result unique(Tensors in, const Attrs &a) {
    const Tensor x = in[0].contiguous().reshape({1, in[0].elements()});
    const int64_t n = x.elements();
    const Ordered y = first_in_order(x, n, false);
    const int32_t *places = y.places.data<int32_t>();
    const Tensor at = y.values.reshape({n});  // NaN equals nothing, not even itself
    const Tensor same = n < 2 ? Tensor::empty({0}, DType::boolean)
                              : run1("equal", {at.slice(0, 1, n), at.slice(0, 0, n - 1)});
    const Tensor inverse = Tensor::empty(in[0].shape(), DType::i32);
    int32_t *const group = inverse.data<int32_t>();
    // of each group: the place of its first element, and how many there are
    PoolVector<int32_t> first, count;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || !same.data<bool>()[i - 1]) {
            first.push_back(places[i]);
            count.push_back(0);
        }
        count.back()++;
        group[places[i]] = int32_t(first.size()) - 1;
    }
    if (!integer(a, "sorted")) {
        PoolVector<int32_t> number(first.size(), -1);
        PoolVector<int32_t> sizes;
        sizes.reserve(first.size());
        for (int64_t i = 0, g = 0; i < n; i++) {
            g = group[i];
            if (number[size_t(g)] < 0) {
                number[size_t(g)] = int32_t(sizes.size());
                sizes.push_back(count[size_t(g)]);
                first[sizes.size() - 1] = int32_t(i);
            }
            group[i] = number[size_t(g)];
        }
        count.swap(sizes);
    }
    const int64_t groups = int64_t(count.size());
    const auto tensor_of = [groups](const PoolVector<int32_t> &numbers, const Shape &shape) {
        Tensor t = Tensor::empty(shape, DType::i32);
        std::copy_n(numbers.begin(), groups, t.data<int32_t>());
        return t;
    };
    const Tensor values = groups ? taken(x, tensor_of(first, {1, groups})) : x;
    return {values.reshape({groups}), inverse, tensor_of(count, {groups})};
}

}  // namespace

Tensor added_along(const Tensor &x, int64_t axis, const Tensor &places, const Tensor &dy) {
    const int a = normal_axis("added_along", axis, x.rank());
    const auto around = [a](const Tensor &t) {  // [o,t.shape()[a],i]
        const Shape s = t.shape();
        const auto at = s.begin() + a;
        return reshaped(t,
                        {Shape(s.begin(), at).elements(), *at, Shape(at + 1, s.end()).elements()});
    };
    return reshaped(run1("gather_elements_kernel_dx", {around(x), around(places), around(dy)}),
                    x.shape());
}

Family sorting_family() {
    static const Family::value_type all[] = {{"sort", sort},
                                             {"argsort", argsort},
                                             {"top_k", top_k},
                                             {"median", median},
                                             {"unique", unique},
                                             {"argmax_with_value", arg_with_value<true>},
                                             {"argmin_with_value", arg_with_value<false>}};
    return all;
}

}  // namespace halyard
