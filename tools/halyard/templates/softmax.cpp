// new_op and its gradient: rows of c elements, each reduced and written again. The example is
// softmax.
#include "kernels/rowwise/rows.h"

namespace halyard {
namespace {

// Rows supplies the schedules for CPU and GPU, the samples and the bench problems.
struct NewOp : Rows {
    NewOp() : Rows("new_op", "x[..n,c] -> y[..n,c]") {
        doc = "y = exp(x) / sum exp(x), along axis";
        contract = {Contract::normwise, 10};
    }
    Func x = input("x");
    Func y = output("y");
    Func row_max{"row_max"}, exponential{"exponential"}, total{"total"}, scale{"scale"};

    // Algorithms are written over the reals, without a dtype. Indices are innermost first.
    void algorithm() override {
        k = RDom(0, size("c"));
        row_max(n) = math::lowest();
        row_max(n) = max(row_max(n), x(k, n));
        exponential(c, n) = exp(x(c, n) - row_max(n));
        total(n) += exponential(k, n);
        scale(n) = 1_r / total(n);
        y(c, n) = exponential(c, n) * scale(n);
        row_reductions = {row_max, total};
        row_maps = {exponential};
        row_scalars = {scale};
    }
    // The reference is the naive formula in double. Indices are outermost first.
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            double largest = -INFINITY;
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                largest = std::max(largest, p("x")(i, j));
            for (int64_t j = 0; j < p["c"]; j++)
                sum += std::exp(p("x")(i, j) - largest);
            for (int64_t j = 0; j < p["c"]; j++)
                p("y")(i, j) = std::exp(p("x")(i, j) - largest) / sum;
        }
    }
};

// The name `new_op_dx` makes this op the gradient of new_op with respect to x. Its inputs tell the
// tape which tensors to save.
struct NewOpDx : Rows {
    NewOpDx() : Rows("new_op_dx", "y[..n,c] dy[..n,c] -> dx[..n,c]") {
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
        row_reductions = {dot};
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

}  // namespace
HALYARD_OPS {
    ops.add<NewOp>();
    ops.add<NewOpDx>();
}
}  // namespace halyard
