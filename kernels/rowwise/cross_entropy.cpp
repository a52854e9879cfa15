// Cross entropy of softmax(logits) against class numbers or against a distribution: one fused pass
// per row of c classes.
#include <cmath>

#include "kernels/rowwise/rows.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;

struct CrossEntropy : Rows {
    CrossEntropy(const std::string &name, const std::string &signature)
        : Rows(name, signature, false) {
        samples = {"n=1 c=1",    "n=3 c=7",   "n=5 c=64", "n=4 c=31",
                   "n=2 c=1000", "n=70 c=17", "n=33 c=10"};
        bench = {"n=32 c=10", "n=4096 c=1024"};
        conditions = {"c>=1"};
        contract = {Contract::normwise, 10};
    }
    Func peak{"peak"}, e{"e"}, total{"total"};

    // e = exp(x - max x) and its sum
    void exponentials(const Func &logits) {
        k = RDom(0, size("c"));
        peak(n) = math::lowest();
        peak(n) = max(peak(n), logits(k, n));
        e(c, n) = math::exp_nonpositive(logits(c, n) - peak(n));
        total(n) += e(k, n);
        totals = {peak, total};
    }

    // For references: the log of the sum of exponentials of row i.
    static double log_sum_of(Problem &p, int64_t i) {
        double most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < p["c"]; j++)
            most = std::max(most, p("logits")(i, j));
        for (int64_t j = 0; j < p["c"]; j++)
            sum += std::exp(p("logits")(i, j) - most);
        return most + std::log(sum);
    }
};

// A label outside [0, c) names no class: its row's loss and gradient are 0, whatever its logits,
// and nothing is read out of bounds.
struct Sparse : CrossEntropy {
    Sparse(const std::string &name, const std::string &signature) : CrossEntropy(name, signature) {
        let("labels_end", "c");
    }
    Expr known(const Func &labels) const { return labels(n) >= 0 && labels(n) < size("c"); }
};

struct SparseSoftmaxCrossEntropy : Sparse {
    SparseSoftmaxCrossEntropy()
        : Sparse("sparse_softmax_cross_entropy", "logits[..n,c] labels:i32[..n] -> loss[..n]") {
        doc = "loss = log sum exp(logits) - logits[label]; 0 where label is not in [0, c)";
    }
    Func logits = input("logits"), labels = input("labels");
    Func loss = output("loss");

    void algorithm() override {
        exponentials(logits);
        const Expr at = clamp(labels(n), 0, size("c") - 1);
        loss(n) = select(known(labels), log(total(n)) - (logits(at, n) - peak(n)), 0_r);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            const int64_t label = int64_t(p("labels")(i));
            p("loss")(i) = label < 0 || label >= p["c"] ? 0
                                                        : log_sum_of(p, i) - p("logits")(i, label);
        }
    }
};

struct SparseSoftmaxCrossEntropyDlogits : Sparse {
    SparseSoftmaxCrossEntropyDlogits()
        : Sparse("sparse_softmax_cross_entropy_dlogits",
                 "logits[..n,c] labels:i32[..n] dloss[..n] -> dlogits[..n,c]") {
        internal = true;
    }
    Func logits = input("logits"), labels = input("labels"), dloss = input("dloss");
    Func dlogits = output("dlogits");
    Func scale{"scale"}, own{"own"};

    void algorithm() override {
        exponentials(logits);
        own(n) = select(known(labels), dloss(n), 0_r);
        scale(n) = own(n) / total(n);
        per_row = {own, scale};
        row_stages = {e};
        dlogits(c, n) = select(known(labels),
                               e(c, n) * scale(n) - select(c == labels(n), own(n), 0_r), 0_r);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            const int64_t label = int64_t(p("labels")(i));
            if (label < 0 || label >= p["c"]) continue;
            const double all = log_sum_of(p, i);
            for (int64_t j = 0; j < p["c"]; j++) {
                p("dlogits")(i, j) = p("dloss")(i) *
                                     (std::exp(p("logits")(i, j) - all) - (j == label));
            }
        }
    }
};

// What nll_loss and cross_entropy are made of: the label's logit, negative.
struct Nll : Sparse {
    Nll(const std::string &name, const std::string &signature) : Sparse(name, signature) {
        internal = true;
        variants = {{"", ""}};
        contract = {Contract::elementwise, 0};
    }
    void schedule(const Cpu &cpu) override {
        Var block("block"), row("row");
        Func y = store();
        y.split(y.args().back(), block, row, cpu.pick("rows", {8, 32}), Tail::GuardWithIf)
            .parallel(block);
        if (y.dimensions() > 1) y.vectorize(var(0), cpu.lanes, Tail::GuardWithIf);
    }
};

struct Pick : Nll {
    Pick() : Nll("nll_kernel", "x[..n,c] labels:i32[..n] -> loss[..n]") {}
    Func x = input("x"), labels = input("labels");
    Func loss = output("loss");

    void algorithm() override {
        loss(n) = select(known(labels), math::negative(x(clamp(labels(n), 0, size("c") - 1), n)),
                         0_r);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            const int64_t label = int64_t(p("labels")(i));
            p("loss")(i) = label < 0 || label >= p["c"] ? 0 : -p("x")(i, label);
        }
    }
};

struct PickDx : Nll {
    // x is there for its shape alone
    PickDx() : Nll("nll_kernel_dx", "x[..n,c] labels:i32[..n] dloss[..n] -> dx[..n,c]") {}
    Func x = input("x"), labels = input("labels"), dloss = input("dloss");
    Func dx = output("dx");

    void algorithm() override { dx(c, n) = select(c == labels(n), math::negative(dloss(n)), 0_r); }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t j = 0; j < p["c"]; j++)
                p("dx")(i, j) = j == int64_t(p("labels")(i)) ? -p("dloss")(i) : 0;
        }
    }
};

// Labels need not sum to 1: loss = sum_j labels_j (log sum exp(logits) - logits_j).
struct SoftmaxCrossEntropy : CrossEntropy {
    SoftmaxCrossEntropy()
        : CrossEntropy("softmax_cross_entropy", "logits[..n,c] labels[..n,c] -> loss[..n]") {
        doc = "loss = sum labels * (log sum exp(logits) - logits)";
        contract = {Contract::products, 20};
    }
    Func logits = input("logits"), labels = input("labels");
    Func loss = output("loss");
    Func dot{"dot"}, offset{"offset"};

    void algorithm() override {
        exponentials(logits);
        offset(n) = log(total(n));
        dot(n) += labels(k, n) * (offset(n) - (logits(k, n) - peak(n)));
        totals.push_back(dot);
        per_row = {offset};
        loss(n) = dot(n);
    }
    void reference(Problem &p) const override {
        Array &size = p.magnitude["loss"] = Array(p("loss").shape);  // labels of both signs cancel
        for (int64_t i = 0; i < p["n"]; i++) {
            const double all = log_sum_of(p, i);
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const double term = p("labels")(i, j) * (all - p("logits")(i, j));
                sum += term;
                size(i) += std::fabs(term);
            }
            p("loss")(i) = sum;
        }
    }
};

struct SoftmaxCrossEntropyDlogits : CrossEntropy {
    SoftmaxCrossEntropyDlogits()
        : CrossEntropy("softmax_cross_entropy_dlogits",
                       "logits[..n,c] labels[..n,c] dloss[..n] -> dlogits[..n,c]") {
        internal = true;
        contract = {Contract::normwise, 40};
    }
    Func logits = input("logits"), labels = input("labels"), dloss = input("dloss");
    Func dlogits = output("dlogits");
    Func weight{"weight"}, scale{"scale"};

    void algorithm() override {
        exponentials(logits);
        weight(n) += labels(k, n);
        scale(n) = weight(n) / total(n);
        totals.push_back(weight);
        per_row = {scale};
        row_stages = {e};
        dlogits(c, n) = dloss(n) * (e(c, n) * scale(n) - labels(c, n));
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            const double all = log_sum_of(p, i);
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                sum += p("labels")(i, j);
            for (int64_t j = 0; j < p["c"]; j++) {
                p("dlogits")(i, j) = p("dloss")(i) *
                                     (std::exp(p("logits")(i, j) - all) * sum - p("labels")(i, j));
            }
        }
    }
};

struct SoftmaxCrossEntropyDlabels : CrossEntropy {
    SoftmaxCrossEntropyDlabels()
        : CrossEntropy("softmax_cross_entropy_dlabels",
                       "logits[..n,c] dloss[..n] -> dlabels[..n,c]") {
        internal = true;
    }
    Func logits = input("logits"), dloss = input("dloss");
    Func dlabels = output("dlabels");
    Func offset{"offset"};

    void algorithm() override {
        exponentials(logits);
        offset(n) = log(total(n));
        per_row = {offset};
        dlabels(c, n) = dloss(n) * (offset(n) - (logits(c, n) - peak(n)));
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t j = 0; j < p["c"]; j++)
                p("dlabels")(i, j) = p("dloss")(i) * (log_sum_of(p, i) - p("logits")(i, j));
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Pick>();
    ops.add<PickDx>();
    ops.add<SparseSoftmaxCrossEntropy>();
    ops.add<SparseSoftmaxCrossEntropyDlogits>();
    ops.add<SoftmaxCrossEntropy>();
    ops.add<SoftmaxCrossEntropyDlogits>();
    ops.add<SoftmaxCrossEntropyDlabels>();
}

}  // namespace halyard
