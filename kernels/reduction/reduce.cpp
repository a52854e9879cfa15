// Reductions: what is combined, and its reference. How: kernels/reduction/reduction.h. Gradients:
// reduce_gradient.cpp.
#include "dsl/dtypes.h"
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
            double sum = 0, size = 0;
            elements([&](double v) {
                sum += v;
                size += std::fabs(v);
            });
            p("y")(a, c) = sum / n;
            p.abs_sum["y"](a, c) = size / n;
        });
    }
};

// NaN wins against everything, wherever it stands; of -0 and +0 either may come out.
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
    // The inner choice is one instruction, which keeps a NaN in a. One in b goes into the sum:
    // choosing b itself, LLVM would merge both choices into one of two comparisons.
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

// Of many factors: each rounds once, and what leaves the range of the arithmetic on its way is
// lost.
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
            double product = 1, large = 1, small = 1, n = 0;
            uint64_t whole = 1;
            elements([&](double v) {
                product *= v;
                large *= std::fmax(std::fabs(v), 1);
                small *= std::fmin(std::fabs(v), 1);
                n++;
                whole *= is_integer(p.dtype) ? uint64_t(int64_t(v)) : 1;
            });
            if (is_integer(p.dtype))
                product = p.dtype == DType::i32 ? double(int32_t(whole)) : double(int64_t(whole));
            p("y")(a, c) = product;
            p.abs_sum["y"](a, c) = large < 3e38 && small > 1e-37 ? std::fabs(product) * (n + 1)
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

// Norms: sum |x|, and the root of sum x^2.
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
            // of terms that never cancel: a double's own error would show beside f64's
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
