// The reductions: what each combines, and its reference. The algorithm and the schedules are those
// of Reduction (reduction.h); the gradients are in reduce_gradient.cpp.
#include "dsl/dtypes.h"
#include "dsl/reference_product.h"
#include "kernels/reduction/reduction.h"

namespace halyard {
namespace {

using Halide::Expr;

struct ReduceSum : Reduction {
    bool mean;
    explicit ReduceSum(bool mean)
        : Reduction(mean ? "reduce_mean" : "reduce_sum", mean ? "ReduceMean" : "ReduceSum"),
          mean(mean) {
        doc = mean ? "y = sum of x over axis / number of elements; of nothing: NaN"
                   : "y = sum of x over axis; integers wrap; of nothing: 0";
        other_names = {mean ? "mean" : "sum"};
        if (!mean) dtypes.insert(dtypes.end(), {"i64", "i32"});
        contract = {Contract::products, 8};
    }
    Expr start() const override { return 0_r; }
    Expr combine(const Expr &a, const Expr &b) const override { return a + b; }
    Expr finish(const Expr &a) const override { return mean ? a / count : a; }
    void reference(Problem &p) const override {
        const double n = mean ? double(p["r"] * p["s"]) : 1;
        p.abs_sum["y"] = p("y");
        each(p, [&](int64_t a, int64_t c, auto elements) {
            double sum = 0, abs_sum = 0;
            elements([&](double v) {
                sum += v;
                abs_sum += std::fabs(v);
            });
            p("y")(a, c) = sum / n;
            p.abs_sum["y"](a, c) = abs_sum / n;
        });
    }
};

// The result is NaN if any element is. Of -0 and +0 it may be either.
struct ReduceExtremum : Reduction {
    bool largest;
    explicit ReduceExtremum(bool largest)
        : Reduction(largest ? "reduce_max" : "reduce_min", largest ? "ReduceMax" : "ReduceMin"),
          largest(largest) {
        doc = std::string(largest ? "y = largest" : "y = smallest") +
              " x along axis; NaN if there is one; of nothing: an error";
        other_names = {largest ? "amax" : "amin"};
        dtypes.insert(dtypes.end(), {"i64", "i32", "i8", "u8"});
        conditions = {"r>0", "s>0"};
        contract = {Contract::elementwise, 0};
    }
    Expr start() const override { return largest ? math::lowest() : math::highest(); }
    // The inner select is one instruction, which keeps a NaN in a. A NaN in b is selected as a + b:
    // if b itself were selected, LLVM would merge both selects into a slower sequence.
    Expr combine(const Expr &a, const Expr &b) const override {
        if (is_plain()) return largest ? max(a, b) : min(a, b);
        return select(math::is_nan(b), a + b, select(largest ? b > a : b < a, b, a));
    }
    void reference(Problem &p) const override {
        each(p, [&](int64_t a, int64_t c, auto elements) {
            double best = largest ? -INFINITY : INFINITY;
            elements([&](double v) {
                if (std::isnan(v) || (largest ? v > best : v < best)) best = v;
            });
            p("y")(a, c) = best;
        });
    }
};

// Each factor rounds once. An intermediate product that over- or underflows is lost, so the
// reference allows any error if one may.
struct ReduceProd : Reduction {
    ReduceProd() : Reduction("reduce_prod", "ReduceProd") {
        doc = "y = product of x over axis; integers wrap; of nothing: 1";
        other_names = {"prod"};
        dtypes.insert(dtypes.end(), {"i64", "i32"});
        contract = {Contract::products, 1};
    }
    Expr start() const override { return 1_r; }
    Expr combine(const Expr &a, const Expr &b) const override { return a * b; }
    void reference(Problem &p) const override {
        p.abs_sum["y"] = p("y");
        each(p, [&](int64_t a, int64_t c, auto elements) {
            ReferenceProduct product(p.dtype);
            double n = 0;
            elements([&](double v) {
                product.multiply(v);
                n++;
            });
            p("y")(a, c) = product.value();
            p.abs_sum["y"](a, c) = product.stays_in_range() ? std::fabs(product.value()) * (n + 1)
                                                            : INFINITY;
        });
    }
};

struct ReduceLogical : Reduction {
    bool any;
    explicit ReduceLogical(bool any)
        : Reduction(any ? "reduce_any" : "reduce_all", any ? "ReduceAny" : "ReduceAll", "bool"),
          any(any) {
        doc = any ? "y = some x along axis isn't 0; of nothing: false"
                  : "y = no x along axis is 0; of nothing: true";
        other_names = {any ? "any" : "all"};
        dtypes = all_dtypes;
        contract = {Contract::elementwise, 0};
    }
    Expr start() const override { return any ? 0_r : 1_r; }
    Expr load(const Expr &x) const override { return select(x != 0_r, 1_r, 0_r); }
    Expr combine(const Expr &a, const Expr &b) const override {
        return any ? max(a, b) : min(a, b);
    }
    Expr finish(const Expr &a) const override { return a != 0_r; }
    void reference(Problem &p) const override {
        each(p, [&](int64_t a, int64_t c, auto elements) {
            bool found = false;
            elements([&](double v) { found |= (v != 0) == any; });
            p("y")(a, c) = found == any;
        });
    }
};

// The norms: the sum of |x|, and the root of the sum of x^2.
struct ReduceNorm : Reduction {
    bool squares;
    explicit ReduceNorm(bool squares)
        : Reduction(squares ? "reduce_l2" : "reduce_l1", ""), squares(squares) {
        doc = squares ? "y = sqrt(sum of x^2 over axis)" : "y = sum of |x| over axis";
        contract = {Contract::elementwise, 16};
    }
    Expr start() const override { return 0_r; }
    Expr load(const Expr &x) const override { return squares ? x * x : abs(x); }
    Expr combine(const Expr &a, const Expr &b) const override { return a + b; }
    Expr finish(const Expr &a) const override { return squares ? sqrt(a) : a; }
    void reference(Problem &p) const override {
        each(p, [&](int64_t a, int64_t c, auto elements) {
            // The terms never cancel, so a double's error would be as large as the f64 kernel's.
            long double sum = 0;
            elements([&](double v) { sum += squares ? v * v : std::fabs(v); });
            p("y")(a, c) = double(squares ? std::sqrt(sum) : sum);
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ReduceSum>(false);
    ops.add<ReduceSum>(true);
    ops.add<ReduceProd>();
    ops.add<ReduceExtremum>(true);
    ops.add<ReduceExtremum>(false);
    ops.add<ReduceLogical>(true);
    ops.add<ReduceLogical>(false);
    ops.add<ReduceNorm>(false);
    ops.add<ReduceNorm>(true);
}

}  // namespace halyard
