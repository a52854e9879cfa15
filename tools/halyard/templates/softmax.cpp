// new_op and its gradient: rows of c elements, each reduced and written again. Here softmax.
#include "kernels/rowwise/rows.h"

namespace halyard {
namespace {

struct NewOp : Rows {  // the signature, samples and bench problems of Rows; both of its schedules
    NewOp() : Rows("new_op", "x[..n,c] -> y[..n,c]") {
        doc = "y = exp(x) / sum exp(x), along axis";
        contract = {Contract::normwise, 10};
    }
    Func x = input("x");
    Func y = output("y");
    Func peak{"peak"}, e{"e"}, total{"total"}, scale{"scale"};

    void algorithm() override {  // over the reals, innermost dimension first
        k = RDom(0, size("c"));
        peak(n) = math::lowest();
        peak(n) = max(peak(n), x(k, n));
        e(c, n) = exp(x(c, n) - peak(n));
        total(n) += e(k, n);
        scale(n) = 1_r / total(n);
        y(c, n) = e(c, n) * scale(n);
        totals = {peak, total};
        row_stages = {e};
        per_row = {scale};
    }
    void reference(Problem &p) const override {  // naive, in double, outermost dimension first
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

// the name says whose gradient it is, and in which input; its inputs say what is kept for it
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

}  // namespace
HALYARD_OPS {
    ops.add<NewOp>(), ops.add<NewOpDx>();
}
}  // namespace halyard
