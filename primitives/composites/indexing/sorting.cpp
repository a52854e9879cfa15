// Ops that order elements, by one total order (primitives/composites/order.h): NaN comes after
// every number, -0 equals +0, equal elements are ordered by their indices. Elements are copied
// exactly, and gradients are added to the elements that were copied.
#include "primitives/composites/composite.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "primitives/autograd/tape.h"
#include "primitives/composites/order.h"
#include "primitives/composites/sorting.h"
#include "primitives/ops/argmax.h"
#include "primitives/ops/copy.h"
#include "primitives/ops/gather.h"
#include "registry/tensor/pool_allocator.h"

namespace halyard {
namespace {

// Returns the permutation that exchanges `axis` and the last axis. It is its own inverse.
std::vector<int> swapped(int axis, int rank) {
    std::vector<int> p(static_cast<size_t>(rank));
    std::iota(p.begin(), p.end(), 0);
    std::swap(p[size_t(axis)], p.back());
    return p;
}

// x as dense rows [n,c] along `axis`, recorded on the tape. back() returns results [n,m] to x's
// layout, with m elements along the axis or without the axis.
struct AlongAxis {
    AlongAxis(const char *op, const Tensor &x, int64_t given)
        : axis(normal_axis(op, given, x.rank())), turn(swapped(axis, x.rank())), shape(x.shape()) {
        const int64_t c = shape[axis];
        std::swap(shape[axis], shape[shape.rank() - 1]);
        n = 1;
        for (int d = 0; d + 1 < shape.rank(); d++)
            n *= shape[d];
        const Tensor y = reshaped(transposed(x, turn), {n, c});
        rows = y.dense() ? y : F::copy(y);
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
    Shape shape;  // With the axis last.
    int64_t n = 0;
    Tensor rows;
};

// Returns x's elements at `places` of its rows: [n,m].
Tensor taken(const Tensor &x, const Tensor &places) {
    const int64_t n = x.shape()[0];
    const int64_t m = places.shape()[1];
    return reshaped(
        kernel::gather_elements(reshaped(x, {n, x.shape()[1], 1}), places.reshape({n, m, 1})),
        {n, m});
}

// Records that values[n,m] are x[n,c]'s elements at `places`, to which the gradient is added.
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

Result sort(const Call &call) {
    const AlongAxis x("sort", call[0], call.integer("axis"));
    const Ordered y = first(x, x.rows.shape()[1], call.is_set("descending"));
    return {x.back(y.values), x.back(y.places)};
}

Result argsort(const Call &call) {
    const AlongAxis x("argsort", call[0], call.integer("axis"));
    return {x.back(first_in_order(x.rows, x.rows.shape()[1], call.is_set("descending")).places)};
}

void require_some(const char *op, const AlongAxis &x, const Tensor &given) {
    if (x.rows.shape()[1] == 0) {
        throw ShapeError(op, "dimension " + std::to_string(x.axis) + " of x" +
                                 given.shape().text() + " is 0, expected 1 or more");
    }
}

// For references. Returns true if a is before b in ascending order. NaN is after all numbers, and
// no NaN is before another.
bool before(double a, double b) {
    return a < b || (std::isnan(b) && !std::isnan(a));
}

struct Ordering : Composite {
    Ordering(const std::string &n, const std::string &sig_text, const std::string &formula)
        : Composite(n, sig_text, formula) {
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
    }
    void shapes(const std::string &more = "") {
        for (const char *s : {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=7", "d0=1 d1=2 d2=31",
                              "d0=1 d1=1 d2=33", "d0=1 d1=1 d2=1031"})
            samples.push_back(s + (more.empty() ? "" : " " + more));
    }
    // For references: elements of x along `axis` with their indices, in order. Equal elements are
    // ordered by their indices.
    using Row = std::vector<std::pair<double, int64_t>>;
    static void in_order(Row &row, bool descending) {
        std::stable_sort(row.begin(), row.end(), [&](auto &a, auto &b) {
            return descending ? before(b.first, a.first) : before(a.first, b.first);
        });
    }
    // Sets outputs `values` and `places`, either of which may be "", to picked(row) for each row. A
    // row has m results; m = 0 stands for one result without the axis.
    template<class Picked> static void along(Problem &p, int64_t given_axis, int64_t m,
                                             const char *values, const char *places,
                                             Picked picked) {
        const Array x = p("x");
        const int axis = wrapped(given_axis, x.shape.rank());
        int64_t outer = 1, inner = 1;
        for (int d = 0; d < axis; d++)
            outer *= x.shape[d];
        for (int d = axis + 1; d < x.shape.rank(); d++)
            inner *= x.shape[d];
        const int64_t c = x.shape[axis];
        Shape s = x.shape;
        if (m > 0)
            s[axis] = m;
        else
            s.erase(axis);
        Array y(s), at(s);
        m = std::max<int64_t>(m, 1);
        for (int64_t o = 0; o < outer; o++) {
            for (int64_t i = 0; i < inner; i++) {
                Row row;
                for (int64_t k = 0; k < c; k++)
                    row.emplace_back(x.v[size_t((o * c + k) * inner + i)], k);
                const Row found = picked(row);
                for (int64_t k = 0; k < m; k++) {
                    const auto to = size_t((o * m + k) * inner + i);
                    y.v[to] = found[size_t(k)].first;
                    at.v[to] = double(found[size_t(k)].second);
                }
            }
        }
        if (*values) p.tensors[values] = y;
        if (*places) p.tensors[places] = at;
    }
};

struct Sort : Ordering {
    const bool values;
    explicit Sort(bool with_values)
        : Ordering(with_values ? "sort" : "argsort",
                   with_values ? "x[*] -> y[*] index:i32[*]" : "x[*] -> index:i32[*]",
                   std::string(with_values
                                   ? "y = x in order along axis; index = where each stood"
                                   : "index = the places of x's elements in order along axis") +
                       ". NaN comes after every number, equal elements keep their order; "
                       "descending: the largest, and NaN, first"),
          values(with_values) {
        attr("axis", -1);
        flag("descending", false);
        shapes();
        shapes("descending=1");
        samples.insert(samples.end(),
                       {"d0=5 d1=3 d2=2 axis=0", "d0=2 d1=40 d2=3 axis=1 descending=1"});
        bench = {"d0=1 d1=1 d2=1048576", "d0=1 d1=4096 d2=1024"};
    }
    Result compose(const Call &call) const override { return values ? sort(call) : argsort(call); }
    void reference(Problem &p) const override {
        const int64_t axis = p["axis"];
        const int64_t c = p("x").shape[wrapped(axis, p("x").shape.rank())];
        along(p, axis, c, values ? "y" : "", "index", [&](Row row) {
            in_order(row, p["descending"] != 0);
            return row;
        });
    }
};

struct TopK : Ordering {
    TopK()
        : Ordering("top_k", "x[*] -> values[*] index:i32[*]",
                   "the k largest (or smallest) x along dim, in order, and where they stood; NaN "
                   "is larger than every number, of equal elements the "
                   "first comes first. They are always sorted") {
        alias = "TopK";
        functional = "topk";
        at_call("k", AttrKind::integer, "1");
        at_call("dim", AttrKind::integer, "-1");
        at_call("largest", AttrKind::boolean, "1");
        flag("sorted", true);
        shapes();
        shapes("largest=0");
        samples.insert(samples.end(),
                       {"d0=2 d1=3 d2=1031 k=10", "d0=1 d1=1 d2=2053 k=17 largest=0",
                        "d0=1 d1=1 d2=20011 k=300", "d0=2 d1=3 d2=65 k=64",
                        "d0=40 d1=3 d2=2 k=5 dim=0", "d0=2 d1=9 d2=3 k=9 dim=1 largest=0"});
        bench = {"d0=1 d1=1 d2=1048576 k=10", "d0=1 d1=4096 d2=1024 k=10"};
    }
    Result compose(const Call &call) const override {
        const AlongAxis x("top_k", call[0], call.integer("dim"));
        const int64_t k = call.integer("k");
        const int64_t c = x.rows.shape()[1];
        if (k < 0 || k > c) {
            throw AttrError("top_k", "k is " + std::to_string(k) + ", expected 0 to " +
                                         std::to_string(c) + ", the extent of dimension " +
                                         std::to_string(x.axis) + " of x" + call[0].shape().text());
        }
        const Ordered y = first(x, k, call.is_set("largest"));
        return {x.back(y.values), x.back(y.places)};
    }
    void reference(Problem &p) const override {
        along(p, p["dim"], p["k"], "values", "index", [&](Row row) {
            in_order(row, p["largest"] != 0);
            return row;
        });
    }
};

struct Median : Ordering {
    Median()
        : Ordering("median", "x[*] -> y[*] index:i32[*]",
                   "y = the middle one of x's elements in order along axis, the lower of two, and "
                   "where it stands; NaN where there is one") {
        attr("axis", -1);
        flag("keep_dims", false);
        shapes();
        samples.insert(samples.end(), {"d0=3 d1=4 d2=2 axis=0", "d0=2 d1=8 d2=3 axis=1 keep_dims=1",
                                       "d0=1 d1=1 d2=32"});
        bench = {"d0=1 d1=1 d2=1048576", "d0=1 d1=4096 d2=1024"};
    }
    Result compose(const Call &call) const override {
        const AlongAxis x("median", call[0], call.integer("axis"));
        require_some("median", x, call[0]);
        const bool keep = call.is_set("keep_dims");
        const Ordered y = nth_in_order(x.rows, (x.rows.shape()[1] - 1) / 2);
        const Tensor values = y.values.reshape({x.n, 1});
        const Tensor places = y.places.reshape({x.n, 1});
        return {x.back(recorded(x.rows, values, places), keep), x.back(places, keep)};
    }
    void reference(Problem &p) const override {
        along(p, p["axis"], p["keep_dims"], "y", "index", [&](Row row) {
            const auto nan = std::find_if(row.begin(), row.end(),
                                          [](auto &e) { return std::isnan(e.first); });
            if (nan != row.end()) return Row{*nan};
            in_order(row, false);
            return Row{row[(row.size() - 1) / 2]};
        });
    }
};

struct ArgWithValue : Ordering {
    const bool largest;
    explicit ArgWithValue(bool is_largest)
        : Ordering(is_largest ? "argmax_with_value" : "argmin_with_value",
                   "x[*] -> index:i32[*] values[*]",
                   std::string("first place of the ") + (is_largest ? "largest" : "smallest") +
                       " x along axis, and that x; NaN is beyond all numbers"),
          largest(is_largest) {
        alias = largest ? "ArgMaxWithValue" : "ArgMinWithValue";
        attr("axis", 0);
        flag("keep_dims", false);
        shapes("axis=2");
        samples.insert(samples.end(), {"d0=3 d1=4 d2=2", "d0=2 d1=8 d2=3 axis=1 keep_dims=1"});
    }
    Result compose(const Call &call) const override {
        const char *op = largest ? "argmax_with_value" : "argmin_with_value";
        const AlongAxis x(op, call[0], call.integer("axis"));
        require_some(op, x, call[0]);
        const bool keep = call.is_set("keep_dims");
        const Tensor best = largest ? F::argmax(x.rows) : F::argmin(x.rows);
        const Tensor places = best.reshape({x.n, 1});
        return {x.back(places, keep), x.back(taken(x.rows, places), keep)};
    }
    void reference(Problem &p) const override {
        along(p, p["axis"], p["keep_dims"], "values", "index", [&](const Row &row) {
            auto best = row[0];
            for (auto &e : row) {
                if (!std::isnan(best.first) &&
                    (std::isnan(e.first) ||
                     (largest ? e.first > best.first : e.first < best.first)))
                    best = e;
            }
            return Row{best};
        });
    }
};

// The number of different elements is known only after the call: it is the extent of y and counts.
struct Unique : Ordering {
    Unique()
        : Ordering("unique", "x[*] -> y[m] inverse:i32[*] counts:i32[m]",
                   "y = x's different elements as they first occur (sorted: in order), x = "
                   "y[inverse], counts = how often each occurs; NaN differs from NaN") {
        flag("sorted", false);
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=7", "d0=2 d1=3 d2=7 sorted=1",
                   "d0=1 d1=1 d2=1031", "d0=1 d1=1 d2=1031 sorted=1"};
        bench = {"d0=1 d1=1 d2=1048576"};
    }
    // Equal elements are adjacent after sorting. They form groups, which are numbered in order;
    // unsorted results number them again by first occurrence.
    Result compose(const Call &call) const override {
        const Tensor x = call[0].contiguous().reshape({1, call[0].elements()});
        const int64_t n = x.elements();
        const Ordered y = first_in_order(x, n, false);
        const int32_t *places = y.places.data<int32_t>();
        const Tensor at = y.values.reshape({n});  // A NaN equals nothing, not even itself.
        const Tensor same = n < 2 ? Tensor::empty({0}, DType::boolean)
                                  : at.slice(0, 1, n) == at.slice(0, 0, n - 1);
        const Tensor inverse = Tensor::empty(call[0].shape(), DType::i32);
        int32_t *const group = inverse.data<int32_t>();
        // The index of each group's first element, and the group's size.
        PoolVector<int32_t> first, count;
        for (int64_t i = 0; i < n; i++) {
            if (i == 0 || !same.data<bool>()[i - 1]) {
                first.push_back(places[i]);
                count.push_back(0);
            }
            count.back()++;
            group[places[i]] = int32_t(first.size()) - 1;
        }
        if (!call.integer("sorted")) {
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
    void reference(Problem &p) const override {
        const Array x = p("x");
        std::vector<double> found;
        for (double v : x.v)
            if (std::find(found.begin(), found.end(), v) == found.end()) found.push_back(v);
        if (p["sorted"]) std::sort(found.begin(), found.end(), before);
        Array inverse(x.shape);
        Array counts(Shape{int64_t(found.size())});
        Array y(counts.shape);
        y.v = found;
        for (size_t i = 0; i < x.v.size(); i++) {
            const auto at = std::find(found.begin(), found.end(), x.v[i]) - found.begin();
            inverse.v[i] = double(at);
            counts.v[size_t(at)]++;
        }
        p.tensors["y"] = y;
        p.tensors["inverse"] = inverse;
        p.tensors["counts"] = counts;
    }
};

}  // namespace

Tensor added_along(const Tensor &x, int64_t axis, const Tensor &places, const Tensor &dy) {
    const int a = normal_axis("added_along", axis, x.rank());
    const auto around = [a](const Tensor &t) {  // [o,t.shape()[a],i]
        const Shape s = t.shape();
        const auto at = s.begin() + a;
        return reshaped(t,
                        {Shape(s.begin(), at).elements(), *at, Shape(at + 1, s.end()).elements()});
    };
    return reshaped(kernel::gather_elements_dx(around(x), around(places), around(dy)), x.shape());
}

HALYARD_COMPOSITES {
    composites.add<Sort>(true);
    composites.add<Sort>(false);
    composites.add<TopK>();
    composites.add<Median>();
    composites.add<ArgWithValue>(true);
    composites.add<ArgWithValue>(false);
    composites.add<Unique>();
}

}  // namespace halyard
