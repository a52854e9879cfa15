// Ops that order elements: primitives/composites/sorting.cpp states them, on one total order
// (primitives/composites/order.h): NaN after every number, -0 equal to +0, equal elements by their
// places. Elements move and nothing is rounded; their gradients go back where they came from.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

// For references: is a before b in ascending order? NaN is after all, and no NaN before another.
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
    // For references: elements of x along `axis` with their places, in order; equal ones by their
    // places.
    using Row = std::vector<std::pair<double, int64_t>>;
    static void in_order(Row &row, bool descending) {
        std::stable_sort(row.begin(), row.end(), [&](auto &a, auto &b) {
            return descending ? before(b.first, a.first) : before(a.first, b.first);
        });
    }
    // Outputs `values` and `places` (either may be "") have `picked(row)` in the place of each row,
    // m of them; without the axis: m = 0.
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
        attrs.push_back({"sorted", AttrKind::boolean, "1", {}, {}});
        shapes();
        shapes("largest=0");
        samples.insert(samples.end(),
                       {"d0=2 d1=3 d2=1031 k=10", "d0=1 d1=1 d2=2053 k=17 largest=0",
                        "d0=1 d1=1 d2=20011 k=300", "d0=2 d1=3 d2=65 k=64",
                        "d0=40 d1=3 d2=2 k=5 dim=0", "d0=2 d1=9 d2=3 k=9 dim=1 largest=0"});
        bench = {"d0=1 d1=1 d2=1048576 k=10", "d0=1 d1=4096 d2=1024 k=10"};
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

// How many differ is known only when it has run: y and counts have as many elements as x has
// different ones.
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

HALYARD_OPS {
    ops.add<Sort>(true);
    ops.add<Sort>(false);
    ops.add<TopK>();
    ops.add<Median>();
    ops.add<ArgWithValue>(true);
    ops.add<ArgWithValue>(false);
    ops.add<Unique>();
}

}  // namespace halyard
