// Running sums, products and extrema along an axis.
//
// A row is divided into blocks of 16 elements, which are scanned one element after another, several
// blocks side by side, so that an addition doesn't wait for the one before. Then a scan over the
// blocks' results gives what precedes each block. The order depends on the length only, not on the
// instruction set.
#include <cmath>
#include <functional>

#include "dsl/op.h"
#include "dsl/reference_product.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::likely;
using Halide::RDom;
using Halide::Var;
using Tail = Halide::TailStrategy;

constexpr int block = 16;        // elements of a block
constexpr int side_by_side = 4;  // blocks that are scanned at the same time
constexpr int task_elements = 32768;
constexpr int block_elements = 1024, max_rows = 8;  // limits of the rows that are computed together

// A scan of rows of c elements.
struct BlockScan {
    Func local{"local"};    // (u, b, n): the scan within block b
    Func before{"totals"};  // (b, n): the combination of the blocks before b
    Var u{"u"}, b{"b"}, n{"n"};
    RDom k, r;
    std::function<Expr(const Expr &first, const Expr &second)> combine;

    // Defines the scan. The p-th element to be combined is element(index(p)), or `identity` if the
    // index is outside [0, c). `identity` satisfies combine(identity, e) = e.
    template<class Index, class Element>
    void define(const Expr &c, const Expr &identity, const Index &index, const Element &element) {
        const Expr last = c - 1;
        const Expr from = index(b * block + u);
        local(u, b, n) = select(likely(from >= 0 && from <= last),
                                element(clamp(likely(from), 0, last)), identity);
        r = RDom(1, block - 1);
        local(r, b, n) = combine(local(r - 1, b, n), local(r, b, n));
        k = RDom(1, max(0, (c + block - 1) / block - 1));
        before(b, n) = identity;
        before(k, n) = combine(before(k - 1, n), local(block - 1, k - 1, n));
    }
    // Returns the combination of the first p + 1 elements.
    Expr operator()(const Expr &p) const {
        return combine(before(p / block, n), local(p % block, p / block, n));
    }

    void compute_at(const Func &last, const Var &rows) {
        Var side("side");
        before.compute_at(last, rows);
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
    BlockScan values;
    const Var n = values.n;

    // Adds an attribute that is an argument of the kernel too.
    Expr kernel_flag(const char *name) {
        flag(name, false);
        return derived(name, name);
    }

    // All outputs have one loop over blocks of rows, at which the scans are computed. With several
    // rows in a block, vectors aren't loaded right after their elements were stored one by one,
    // which would stall (docs/kernel_measurements.md, "scans").
    void schedule_outputs(const Var &rows) {
        Var task("task"), row("row"), vec("vec"), lane("lane");
        const Expr at_once = clamp(block_elements / max(1, size("c")), 1, max_rows);
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
    Expr exclusive = kernel_flag("exclusive"), reverse = kernel_flag("reverse");

    void algorithm() override {
        const Expr last = size("c") - 1;
        values.combine = [this](const Expr &a, const Expr &e) { return product ? a * e : a + e; };
        values.define(
            size("c"), product ? 1_r : 0_r,
            // An exclusive scan combines the neighbour instead of the element itself.
            [&](const Expr &p) {
                return select(reverse != 0, last - p, p) -
                       select(exclusive == 0, 0, reverse != 0, -1, 1);
            },
            [&](const Expr &at) { return x(at, n); });
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
        const Array &x = p("x");
        Array &y = p("y");
        Array &abs_sum = p.abs_sum["y"] = Array(y.shape);
        const int64_t rows = p["n"];
        const int64_t count = p["c"];
        const bool from_end = p["reverse"] != 0;
        const bool skips_itself = p["exclusive"] != 0;
        for (int64_t i = 0; i < rows; i++) {
            RunningValue running(product, p.dtype);
            for (int64_t j = 0; j < count; j++) {
                const int64_t at = from_end ? count - 1 - j : j;
                if (!skips_itself) running.combine(x(i, at));
                y(i, at) = running.result();
                abs_sum(i, at) = running.abs_sum_with_roundings(j);
                if (skips_itself) running.combine(x(i, at));
            }
        }
    }

    // The sum or product of the elements so far, for the reference.
    struct RunningValue {
        const bool is_product;
        ReferenceProduct product;
        double sum = 0, abs_sum = 0;
        RunningValue(bool of_factors, DType t) : is_product(of_factors), product(t) {}
        void combine(double v) {
            product.multiply(v);
            sum += v;
            abs_sum += std::fabs(v);
        }
        double result() const { return is_product ? product.value() : sum; }
        // Returns the sum of the absolute values, times the roundings of element j. It is infinite
        // if an intermediate product may leave the range of f32.
        double abs_sum_with_roundings(int64_t j) const {
            if (!is_product) return abs_sum * (1 + static_cast<double>(j) / 256);
            if (!product.stays_in_range()) return INFINITY;
            return std::fabs(product.value()) * static_cast<double>(j + 2) / 4;
        }
    };
};

// With indices in the order of the product, dx_i = prod_{k < i} x_k * W_i, where W_i = sum_{j >= i}
// dy_j prod_{i < k <= j} x_k. W is computed from the end: W_i = dy_i + x_{i+1} W_{i+1}. For an
// exclusive product dy_{i+1} takes the place of dy_i. There is no division, so zeros in x are no
// special case.
struct CumprodGradient : Running {
    CumprodGradient() : Running("cumprod_dx", "x[..n,c] dy[..n,c] -> dx[..n,c]") {
        internal = true;
        samples.insert(samples.end(), {"n=3 c=7 exclusive=1", "n=7 c=17 reverse=1",
                                       "n=2 c=100 exclusive=1 reverse=1"});
        contract = {Contract::products, 4};
    }
    Func dy = input("dy");
    Func dx = output("dx");
    // (c, n), in the order of the product: prod_{k < c} x_k, and W_c.
    Func product_before{"before"}, sum_after{"after"};
    Expr exclusive = kernel_flag("exclusive"), reverse = kernel_flag("reverse");

    void algorithm() override {
        const Expr last = size("c") - 1;
        const auto at = [&](const Expr &p) { return select(reverse != 0, last - p, p); };
        // The last element is in no exclusive product. Its factor stays 1, whatever comes before
        // it, and its W is 0.
        const Expr factors = select(exclusive == 0, last, last - 1);
        const RDom k(1, max(0, factors));
        const RDom j(0, max(0, factors));
        product_before(c, n) = 1_r;
        product_before(k, n) = product_before(k - 1, n) * x(at(k - 1), n);
        const Expr q = factors - 1 - j;
        const Expr here = at(clamp(c, 0, last));
        const Expr next = at(clamp(c + 1, 0, last));
        sum_after(c, n) = select(exclusive == 0, dy(here, n), c < last, dy(next, n), 0_r);
        // Without the last element of an exclusive product: an Inf there would make 0 x Inf.
        sum_after(q, n) += x(at(q + 1), n) * sum_after(q + 1, n);
        dx(c, n) = product_before(at(c), n) * sum_after(at(c), n);
        along = k.x;
        from_end = j.x;
    }
    void schedule(const Cpu &) override {
        Var rows("rows"), side("side");
        schedule_outputs(rows);
        for (Func &f : {std::ref(product_before), std::ref(sum_after)})
            f.compute_at(store(), rows).vectorize(c, block);
        product_before.update()
            .split(n, n, side, side_by_side, Tail::GuardWithIf)
            .reorder(side, along, n)
            .unroll(side);
        sum_after.update()
            .split(n, n, side, side_by_side, Tail::GuardWithIf)
            .reorder(side, from_end, n)
            .unroll(side);
        store().specialize(reverse == 0);
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &dy = p("dy");
        Array &dx = p("dx");
        Array &abs_sum = p.abs_sum["dx"] = Array(dx.shape);
        const int64_t rows = p["n"];
        const int64_t count = p["c"];
        const int64_t skipped = p["exclusive"] != 0;
        const bool from_end = p["reverse"] != 0;
        const auto at = [&](int64_t k) { return from_end ? count - 1 - k : k; };
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t e = 0; e < count; e++) {
                double sum = 0, terms = 0;
                ReferenceProduct others(p.dtype);  // x up to j without x_e
                for (int64_t j = 0; j < count; j++) {
                    if (j != e) others.multiply(x(i, at(j)));
                    if (j < e || j + skipped >= count) continue;
                    const double term = dy(i, at(j + skipped)) * others.value();
                    sum += term;
                    terms += std::fabs(term) * double(j + 2) / 4;
                }
                dx(i, at(e)) = sum;
                abs_sum(i, at(e)) = others.stays_in_range() ? terms : INFINITY;
            }
        }
    }

private:
    Halide::RVar along, from_end;
};

// After a NaN all results are NaN. The index of equal extrema is the last one, as in PyTorch and
// MindSpore: the last element so far that equals the extremum so far. A second scan, of integers,
// finds it. Extrema don't round, so any order gives the same bits.
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
    BlockScan indices;

    void algorithm() override {
        const auto identity_index = [](const Expr &p) { return p; };
        values.combine = [this](const Expr &a, const Expr &e) {
            return select(math::is_nan(a), a + e, select(largest ? e < a : e > a, a, e));
        };
        values.define(size("c"), largest ? math::lowest() : math::highest(), identity_index,
                      [&](const Expr &at) { return x(at, n); });
        indices.n = n;
        indices.combine = [](const Expr &a, const Expr &p) { return max(a, p); };
        indices.define(size("c"), 0, identity_index, [&](const Expr &at) {
            const Expr e = x(at, n);
            return select(e == values(at) || math::is_nan(e), at, 0);
        });
        y(c, n) = values(c);
        index(c, n) = indices(c);
    }
    void schedule(const Cpu &) override {
        Var rows("rows");
        schedule_outputs(rows);
        values.compute_at(store(), rows);
        indices.compute_at(store(), rows);
    }
    void reference(Problem &p) const override {
        const Array &x = p("x");
        Array &y = p("y"), &index = p("index");
        const int64_t rows = p["n"];
        const int64_t count = p["c"];
        for (int64_t i = 0; i < rows; i++) {
            int64_t best = 0;
            for (int64_t j = 0; j < count; j++) {
                const double v = x(i, j);
                const double extremum = x(i, best);
                if (std::isnan(v) || (largest ? v >= extremum : v <= extremum)) best = j;
                y(i, j) = x(i, best);
                index(i, j) = double(best);
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
