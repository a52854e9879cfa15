// softmax, log_softmax and their gradients, over rows of c elements. A NaN in a row of x or dy
// makes that row of the result NaN. So does a row of x that is -inf throughout.
//
// Each op is an algorithm and a reference. The schedules are those of Rows, which takes the Funcs
// in row_reductions, row_maps, prefetching_maps and row_scalars as rows.h describes.
#include "kernels/rowwise/rows.h"

#include <algorithm>
#include <cmath>

namespace halyard {
namespace {

// y = exp(x - row_max) / sum exp(x - row_max). Subtracting the maximum keeps exp in range; its
// factor exp(-row_max) cancels in the quotient.
struct Softmax : Rows {
    Softmax() : Rows("softmax", "x[..n,c] -> y[..n,c]") {
        doc = "y = exp(x) / sum exp(x), along axis";
        contract = {Contract::normwise, 10};
    }
    Func x = input("x");
    Func y = output("y");
    Func row_max{"peak"}, exponential{"e"}, total{"total"}, scale{"scale"};

    void algorithm() override {
        k = RDom(0, size("c"));
        row_max(n) = math::lowest();
        row_max(n) = max(row_max(n), x(k, n));
        exponential(c, n) = math::exp_nonpositive(x(c, n) - row_max(n));
        total(n) += exponential(k, n);
        scale(n) = 1_r / total(n);
        y(c, n) = exponential(c, n) * scale(n);
        row_reductions = {row_max, total};
        row_maps = {exponential};
        row_scalars = {scale};
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            double largest = -INFINITY;
            long double sum = 0;  // a double's rounding errors would exceed those of the f64 kernel
            for (int64_t j = 0; j < p["c"]; j++)
                largest = std::max(largest, p("x")(i, j));
            for (int64_t j = 0; j < p["c"]; j++)
                sum += std::exp(p("x")(i, j) - largest);
            for (int64_t j = 0; j < p["c"]; j++)
                p("y")(i, j) = double(std::exp(p("x")(i, j) - largest) / sum);
        }
    }
};

// dx = y * (dy - sum(y * dy))
struct SoftmaxDx : Rows {
    SoftmaxDx() : Rows("softmax_dx", "y[..n,c] dy[..n,c] -> dx[..n,c]") {
        internal = true;
        contract = {Contract::products, 8};
    }
    Func y = input("y"), dy = input("dy");
    Func dx = output("dx");
    Func term{"term"}, dot{"dot"};

    void algorithm() override {
        k = RDom(0, size("c"));
        term(c, n) = y(c, n) * dy(c, n);
        dot(n) += term(k, n);
        dx(c, n) = y(c, n) * (dy(c, n) - dot(n));
        row_reductions = {dot};
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["dx"] = Array(p("dx").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            long double sum = 0;
            double abs_terms = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const double term = p("y")(i, j) * p("dy")(i, j);
                sum += term;
                abs_terms += std::fabs(term);
            }
            for (int64_t j = 0; j < p["c"]; j++) {
                p("dx")(i, j) = p("y")(i, j) * double(p("dy")(i, j) - sum);
                abs_sum(i, j) = std::fabs(p("y")(i, j)) * (std::fabs(p("dy")(i, j)) + abs_terms);
            }
        }
    }
};

// y = (x - row_max) - log sum exp(x - row_max)
struct LogSoftmax : Rows {
    LogSoftmax() : Rows("log_softmax", "x[..n,c] -> y[..n,c]") {
        doc = "y = x - log sum exp(x), along axis";
        contract = {Contract::normwise, 10};
    }
    Func x = input("x");
    Func y = output("y");
    Func row_max{"peak"}, exponential{"e"}, total{"total"}, log_total{"shift"};

    void algorithm() override {
        k = RDom(0, size("c"));
        row_max(n) = math::lowest();
        row_max(n) = max(row_max(n), x(k, n));
        exponential(c, n) = math::exp_nonpositive(x(c, n) - row_max(n));
        total(n) += exponential(k, n);
        log_total(n) = log(total(n));
        y(c, n) = (x(c, n) - row_max(n)) - log_total(n);
        row_reductions = {row_max, total};
        row_scalars = {log_total};
        // Only the sum reads the exponentials, so storing them saves nothing. The variant "wide"
        // stores them nevertheless, because the loop that stores them is the one that prefetches
        // the next rows (docs/kernel_measurements.md, "rows").
        prefetching_maps = {exponential};
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            double largest = -INFINITY;
            long double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                largest = std::max(largest, p("x")(i, j));
            for (int64_t j = 0; j < p["c"]; j++)
                sum += std::exp(p("x")(i, j) - largest);
            const auto log_sum = double(std::log(sum));
            for (int64_t j = 0; j < p["c"]; j++)
                p("y")(i, j) = p("x")(i, j) - largest - log_sum;
        }
    }
};

// dx = dy - exp(y) * sum(dy)
struct LogSoftmaxDx : Rows {
    LogSoftmaxDx() : Rows("log_softmax_dx", "y[..n,c] dy[..n,c] -> dx[..n,c]") {
        internal = true;
        contract = {Contract::normwise, 50};
    }
    Func y = input("y"), dy = input("dy");
    Func dx = output("dx");
    Func dy_sum{"total"};

    void algorithm() override {
        k = RDom(0, size("c"));
        dy_sum(n) += dy(k, n);
        dx(c, n) = dy(c, n) - exp(y(c, n)) * dy_sum(n);
        row_reductions = {dy_sum};
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                sum += p("dy")(i, j);
            for (int64_t j = 0; j < p["c"]; j++)
                p("dx")(i, j) = p("dy")(i, j) - std::exp(p("y")(i, j)) * sum;
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<LogSoftmax>();
    ops.add<LogSoftmaxDx>();
    ops.add<Softmax>();
    ops.add<SoftmaxDx>();
}

}  // namespace halyard
