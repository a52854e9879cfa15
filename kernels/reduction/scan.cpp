// Running sums, products and extrema along an axis.
//
// Within blocks of 16 one element after another, several blocks side by side, so that no addition
// waits for the one before; then the blocks' totals run from block to block. The order depends on
// the length alone, not on the instruction set.
#include <cmath>
#include <functional>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::likely;
using Halide::RDom;
using Halide::Var;
using Tail = Halide::TailStrategy;

constexpr int block = 16, side_by_side = 4, task_elements = 32768, block_elements = 1024,
              most_rows = 8;

// One scan of rows of c elements, of which element(place) is known for 0 <= place < c;
// combine(nothing, e) = e.
struct Blocks {
    Func local{"local"}, totals{"totals"};
    Var u{"u"}, b{"b"}, n{"n"};
    RDom k, r;
    std::function<Expr(const Expr &before, const Expr &after)> combine;

    // `place` is that of the p-th to come: place(p).
    template<class Place, class Element>
    void define(const Expr &c, const Expr &nothing, const Place &place, const Element &element) {
        const Expr last = c - 1;
        const Expr from = place(b * block + u);
        local(u, b, n) = select(likely(from >= 0 && from <= last),
                                element(clamp(likely(from), 0, last)), nothing);
        r = RDom(1, block - 1);
        local(r, b, n) = combine(local(r - 1, b, n), local(r, b, n));
        k = RDom(1, max(0, (c + block - 1) / block - 1));
        totals(b, n) = nothing;
        totals(k, n) = combine(totals(k - 1, n), local(block - 1, k - 1, n));
    }
    Expr operator()(const Expr &p) const {
        return combine(totals(p / block, n), local(p % block, p / block, n));
    }

    void compute_at(const Func &last, const Var &rows) {
        Var side("side");
        totals.compute_at(last, rows);
        local.compute_at(last, rows).bound_extent(u, block).vectorize(u);
        local.update()
            .split(b, b, side, side_by_side, Tail::GuardWithIf)
            .reorder(side, r, b, n)
            .unroll(side)
            .unroll(r, 5);
    }
};

struct Running : Op {
    Running(const std::string &name, const std::string &signature) : Op(name, signature) {
        attr("axis", -1);
        attrs.back().at_call = true;
        axis = "c";
        samples = {"n=1 c=1", "n=5 c=16", "n=33 c=31", "n=2 c=15", "n=1 c=2053"};
        bench = {"n=4096 c=1024", "n=65536 c=64", "n=32 c=10", "n=1 c=4194304"};
    }
    Func x = input("x");
    Var c{"c"};
    Blocks values;
    const Var n = values.n;

    Expr whole(const char *name) {  // a flag that the kernel knows
        flag(name, false);
        return derived(name, name);
    }

    // Every output in one loop over blocks of rows, at which the scans are computed: what was just
    // written in single elements isn't read in vectors at once. One row at a time, cumsum of 65536
    // x 64 took 1.5 times as long.
    void schedule_outputs(const Var &rows) {
        Var task("task"), row("row"), vec("vec"), lane("lane");
        const Expr at_once = clamp(block_elements / max(1, size("c")), 1, most_rows);
        for (Func &f : out) {
            f.compute_root()
                .split(f.args()[1], task, row, max(1, task_elements / max(1, size("c"))),
                       Tail::GuardWithIf)
                .parallel(task);
            f.split(row, rows, row, at_once, Tail::GuardWithIf);
            f.split(f.args()[0], vec, lane, block, Tail::GuardWithIf).vectorize(lane);
        }
        for (size_t other = 1; other < out.size(); other++)
            out[other].compute_with(out[0], rows);
    }
};

struct Scan : Running {
    const bool product;
    explicit Scan(bool is_product)
        : Running(is_product ? "cumprod" : "cumsum", "x[..n,c] -> y[..n,c]"), product(is_product) {
        doc = std::string("y = running ") + (product ? "product" : "sum") +
              " of x along axis; exclusive: without the element itself; reverse: from the end";
        alias = product ? "CumProd" : "CumSum";
        dtypes.insert(dtypes.end(), {"i64", "i32"});
        samples.insert(samples.end(), {"n=3 c=7 exclusive=1", "n=7 c=17 reverse=1",
                                       "n=2 c=1000 exclusive=1 reverse=1"});
        contract = {Contract::products, 4};
    }
    Func y = output("y");
    Expr exclusive = whole("exclusive"), reverse = whole("reverse");

    void algorithm() override {
        const Expr last = size("c") - 1;
        values.combine = [this](const Expr &a, const Expr &e) { return product ? a * e : a + e; };
        values.define(
            size("c"), product ? 1_r : 0_r,
            [&](const Expr &p) {  // exclusive: of the neighbour
                return select(reverse != 0, last - p, p) -
                       select(exclusive == 0, 0, reverse != 0, -1, 1);
            },
            [&](const Expr &place) { return x(place, n); });
        y(c, n) = values(select(reverse != 0, last - c, c));
    }
    void schedule(const Cpu &) override {
        Var rows("rows");
        schedule_outputs(rows);
        values.compute_at(store(), rows);
        values.local.specialize(reverse == 0).specialize(exclusive == 0);
        store().specialize(reverse == 0);
    }
    void reference(Problem &p) const override {
        Array &size = p.abs_sum["y"] = Array(p("y").shape);
        const bool from_end = p["reverse"] != 0;
        const bool without = p["exclusive"] != 0;
        for (int64_t i = 0; i < p["n"]; i++) {
            double run = product ? 1 : 0;
            double terms = run;
            double large = 1, small = 1;
            uint64_t wraps = product ? 1 : 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const int64_t at = from_end ? p["c"] - 1 - j : j;
                const double v = p("x")(i, at);
                auto put = [&] {
                    const bool in_range = !product || (large < 3e38 && small > 1e-37);
                    p("y")(i, at) = is_integer(p.dtype) ? p.dtype == DType::i32
                                                              ? double(int32_t(wraps))
                                                              : double(static_cast<int64_t>(wraps))
                                                        : run;
                    size(i, at) = in_range
                                      ? terms * (product ? double(j + 2) / 4 : 1 + double(j) / 256)
                                      : INFINITY;
                };
                if (without) put();
                run = product ? run * v : run + v;
                terms = product ? std::fabs(run) : terms + std::fabs(v);
                large *= std::fmax(std::fabs(v), 1);
                small *= std::fmin(std::fabs(v), 1);
                if (is_integer(p.dtype))
                    wraps = product ? wraps * uint64_t(int64_t(v)) : wraps + uint64_t(int64_t(v));
                if (!without) put();
            }
        }
    }
};

// dx_i = prod_{k < i} x_k * W_i, places in the order of the product. W_i = sum_{j >= i} dy_j
// prod_{i < k <= j} x_k runs from the end: W_i = dy_i + x_{i+1} W_{i+1}; exclusive, dy_{i+1} is in
// the place of dy_i. Nothing is divided, so that zeros of x need no care.
struct CumprodGradient : Running {
    CumprodGradient() : Running("cumprod_dx", "x[..n,c] dy[..n,c] -> dx[..n,c]") {
        internal = true;
        samples.insert(samples.end(), {"n=3 c=7 exclusive=1", "n=7 c=17 reverse=1",
                                       "n=2 c=100 exclusive=1 reverse=1"});
        contract = {Contract::products, 4};
    }
    Func dy = input("dy");
    Func dx = output("dx");
    Func before{"before"}, after{"after"};
    Expr exclusive = whole("exclusive"), reverse = whole("reverse");

    void algorithm() override {
        const Expr last = size("c") - 1;
        const auto at = [&](const Expr &p) { return select(reverse != 0, last - p, p); };
        const RDom k(1, max(0, last));
        const RDom j(0, max(0, last));
        before(c, n) = 1_r;
        before(k, n) = before(k - 1, n) * x(at(k - 1), n);
        const Expr q = last - 1 - j;
        const Expr here = at(clamp(c, 0, last));
        const Expr next = at(clamp(c + 1, 0, last));
        after(c, n) = select(exclusive == 0, dy(here, n), c < last, dy(next, n), 0_r);
        after(q, n) = after(q, n) + x(at(q + 1), n) * after(q + 1, n);
        // exclusive, the last element is in no product
        const Expr counts = exclusive == 0 || at(c) < last;
        dx(c, n) = select(counts, before(at(c), n) * after(at(c), n), 0_r);
        along = k.x;
        back = j.x;
    }
    void schedule(const Cpu &) override {
        Var rows("rows"), side("side");
        schedule_outputs(rows);
        for (Func &f : {std::ref(before), std::ref(after)})
            f.compute_at(store(), rows).vectorize(c, block);
        before.update()
            .split(n, n, side, side_by_side, Tail::GuardWithIf)
            .reorder(side, along, n)
            .unroll(side);
        after.update()
            .split(n, n, side, side_by_side, Tail::GuardWithIf)
            .reorder(side, back, n)
            .unroll(side);
        store().specialize(reverse == 0);
    }
    void reference(Problem &p) const override {
        Array &size = p.abs_sum["dx"] = Array(p("dx").shape);
        const int64_t count = p["c"];
        const int64_t skipped = p["exclusive"] != 0;
        const auto at = [&](int64_t k) { return p["reverse"] != 0 ? count - 1 - k : k; };
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t e = 0; e < count; e++) {
                double sum = 0, terms = 0, others = 1;  // the product of x up to j but for x_e
                double large = 1, small = 1;
                for (int64_t j = 0; j < count; j++) {
                    const double v = j == e ? 1 : p("x")(i, at(j));
                    const bool is_counted = j >= e;
                    others *= v;
                    large *= std::fmax(std::fabs(v), 1);
                    small *= v == 0 ? 1 : std::fmin(std::fabs(v), 1);
                    if (!is_counted || j + skipped >= count) continue;
                    const double term = p("dy")(i, at(j + skipped)) * others;
                    sum += term;
                    terms += std::fabs(term) * double(j + 2) / 4;
                }
                p("dx")(i, at(e)) = sum;
                size(i, at(e)) = large < 3e38 && small > 1e-37 ? terms : INFINITY;
            }
        }
    }

private:
    Halide::RVar along, back;
};

// NaN wins, and stays; of equal elements the last one is told, as in PyTorch and MindSpore. An
// extremum rounds nothing, so any order gives the same bits. Its place is the last one so far where
// an element is the extremum so far: a second scan, of integers.
struct RunningExtremum : Running {
    const bool largest;
    explicit RunningExtremum(bool is_largest)
        : Running(is_largest ? "cummax" : "cummin", "x[..n,c] -> y[..n,c] index:i32[..n,c]"),
          largest(is_largest) {
        doc = std::string("y = ") + (largest ? "largest" : "smallest") +
              " x so far along axis, index = the last place where it stands; NaN wins and stays";
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"};
        contract = {Contract::elementwise, 0};
    }
    Func y = output("y"), index = output("index");
    Blocks places;

    void algorithm() override {
        const auto same = [](const Expr &p) { return p; };
        values.combine = [this](const Expr &a, const Expr &e) {
            return select(math::is_nan(a), a + e, select(largest ? e < a : e > a, a, e));
        };
        values.define(size("c"), largest ? math::lowest() : math::highest(), same,
                      [&](const Expr &at) { return x(at, n); });
        places.n = n;
        places.combine = [](const Expr &a, const Expr &p) { return max(a, p); };
        places.define(size("c"), 0, same, [&](const Expr &at) {
            const Expr e = x(at, n);
            return select(e == values(at) || math::is_nan(e), at, 0);
        });
        y(c, n) = values(c);
        index(c, n) = places(c);
    }
    void schedule(const Cpu &) override {
        Var rows("rows");
        schedule_outputs(rows);
        values.compute_at(store(), rows);
        places.compute_at(store(), rows);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            int64_t best = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const double v = p("x")(i, j);
                const double most = p("x")(i, best);
                if (std::isnan(v) || (largest ? v >= most : v <= most)) best = j;
                p("y")(i, j) = p("x")(i, best);
                p("index")(i, j) = double(best);
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Scan>(false);
    ops.add<Scan>(true);
    ops.add<CumprodGradient>();
    ops.add<RunningExtremum>(true);
    ops.add<RunningExtremum>(false);
}

}  // namespace halyard
