// softmax, log_softmax and their gradients: rows of c elements, reduced within the row. A row of
// only -inf gives NaN.
#include "kernels/rowwise/rows.h"

namespace halyard {
namespace {

// y = exp(x - max x) / sum exp(x - max x). Subtracting the row maximum keeps exp in range; a NaN
// reaches the whole row.
struct Softmax : Rows {
    Softmax() : Rows("softmax", "x[..n,c] -> y[..n,c]") {
        doc = "y = exp(x) / sum exp(x), along axis";
        gpu = true;
        contract = {Contract::normwise, 10};
    }
    Func x = input("x");
    Func y = output("y");
    Func peak{"peak"}, e{"e"}, total{"total"}, scale{"scale"};

    void algorithm() override {
        k = RDom(0, size("c"));
        peak(n) = math::lowest();
        peak(n) = max(peak(n), x(k, n));
        e(c, n) = math::exp_nonpositive(x(c, n) - peak(n));
        total(n) += e(k, n);
        scale(n) = 1_r / total(n);
        y(c, n) = e(c, n) * scale(n);
        per_row = {scale};
        totals = {peak, total};
        row_stages = {e};
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            double most = -INFINITY;
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                most = std::max(most, p("x")(i, j));
            for (int64_t j = 0; j < p["c"]; j++)
                sum += std::exp(p("x")(i, j) - most);
            for (int64_t j = 0; j < p["c"]; j++)
                p("y")(i, j) = std::exp(p("x")(i, j) - most) / sum;
        }
    }
};

// dx = y * (dy - sum y * dy)
struct SoftmaxDx : Rows {
    SoftmaxDx() : Rows("softmax_dx", "y[..n,c] dy[..n,c] -> dx[..n,c]") {
        internal = true;
        contract = {Contract::normwise, 40};
    }
    Func y = input("y"), dy = input("dy");
    Func dx = output("dx");
    Func term{"term"}, dot{"dot"};

    void algorithm() override {
        k = RDom(0, size("c"));
        term(c, n) = y(c, n) * dy(c, n);
        dot(n) += term(k, n);
        dx(c, n) = y(c, n) * (dy(c, n) - dot(n));
        totals = {dot};
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                sum += p("y")(i, j) * p("dy")(i, j);
            for (int64_t j = 0; j < p["c"]; j++)
                p("dx")(i, j) = p("y")(i, j) * (p("dy")(i, j) - sum);
        }
    }
};

// y = (x - max x) - log sum exp(x - max x)
struct LogSoftmax : Rows {
    LogSoftmax() : Rows("log_softmax", "x[..n,c] -> y[..n,c]") {
        doc = "y = x - log sum exp(x), along axis";
        contract = {Contract::normwise, 10};
    }
    Func x = input("x");
    Func y = output("y");
    Func peak{"peak"}, e{"e"}, total{"total"}, shift{"shift"};

    void algorithm() override {
        k = RDom(0, size("c"));
        peak(n) = math::lowest();
        peak(n) = max(peak(n), x(k, n));
        e(c, n) = math::exp_nonpositive(x(c, n) - peak(n));
        total(n) += e(k, n);
        shift(n) = log(total(n));
        y(c, n) = (x(c, n) - peak(n)) - shift(n);
        totals = {peak, total};
        per_row = {shift};
        // with the next rows fetched meanwhile: 0.77 of the time (4096 x 1024; rows.cpp)
        if (variant == "wide") row_stages = {e};
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            double most = -INFINITY;
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                most = std::max(most, p("x")(i, j));
            for (int64_t j = 0; j < p["c"]; j++)
                sum += std::exp(p("x")(i, j) - most);
            for (int64_t j = 0; j < p["c"]; j++)
                p("y")(i, j) = p("x")(i, j) - most - std::log(sum);
        }
    }
};

// dx = dy - exp(y) * sum dy
struct LogSoftmaxDx : Rows {
    LogSoftmaxDx() : Rows("log_softmax_dx", "y[..n,c] dy[..n,c] -> dx[..n,c]") {
        internal = true;
        contract = {Contract::normwise, 50};
    }
    Func y = input("y"), dy = input("dy");
    Func dx = output("dx");
    Func total{"total"};

    void algorithm() override {
        k = RDom(0, size("c"));
        total(n) += dy(k, n);
        dx(c, n) = dy(c, n) - exp(y(c, n)) * total(n);
        totals = {total};
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
