// Cross entropy of softmax(logits) against class indices or against a distribution, and the
// negative log likelihood of class indices. One fused kernel computes a row of c classes. The
// schedules are those of Rows (rows.cpp), except for nll, which has one of its own.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/rowwise/rows.h"

namespace halyard {
namespace {

using Halide::clamp;

// The base of losses of rows.
//
// Labels may be class indices. If one is outside [0, c), the loss and gradient of its row are 0,
// whatever the logits, and nothing is read out of bounds.
struct RowLoss : Rows {
    RowLoss(const std::string &name, const std::string &signature) : Rows(name, signature, false) {
        samples = {"n=1 c=1",    "n=3 c=7",   "n=5 c=64", "n=4 c=31",
                   "n=2 c=1000", "n=70 c=17", "n=33 c=10"};
        bench = {"n=32 c=10", "n=4096 c=1024"};
        conditions = {"c>=1"};
    }
    // The let limits the labels of random problems to [0, c).
    void labels_are_classes() { let("labels_end", "c"); }
    // Returns true if the label of row n is a class.
    Expr is_class(const Func &labels) const { return labels(n) >= 0 && labels(n) < size("c"); }
    // Returns the label of row n or, for one outside [0, c), the nearest class.
    Expr class_of(const Func &labels) const { return clamp(labels(n), 0, size("c") - 1); }
};

struct CrossEntropy : RowLoss {
    CrossEntropy(const std::string &name, const std::string &signature) : RowLoss(name, signature) {
        contract = {Contract::normwise, 10};
    }
    Func row_max{"peak"}, exponential{"e"}, total{"total"};

    // Defines the exponentials of logits - row_max and their sum. In a loss only the sum reads the
    // exponentials, and they are inlined into it. In a gradient the result reads them too, so there
    // they are in row_maps.
    void exponentials(const Func &logits) {
        k = RDom(0, size("c"));
        row_max(n) = math::lowest();
        row_max(n) = max(row_max(n), logits(k, n));
        exponential(c, n) = math::exp_nonpositive(logits(c, n) - row_max(n));
        total(n) += exponential(k, n);
        row_reductions = {row_max, total};
    }

    // Returns the logarithm of the sum of the exponentials of row i of the input "logits", for
    // references.
    static long double log_sum_of(Problem &p, int64_t i) {
        double largest = -INFINITY;
        long double sum = 0;  // a double's rounding errors would exceed those of the f64 kernel
        for (int64_t j = 0; j < p["c"]; j++)
            largest = std::max(largest, p("logits")(i, j));
        for (int64_t j = 0; j < p["c"]; j++)
            sum += std::exp(p("logits")(i, j) - largest);
        return largest + std::log(sum);
    }
};

struct SparseSoftmaxCrossEntropy : CrossEntropy {
    SparseSoftmaxCrossEntropy()
        : CrossEntropy("sparse_softmax_cross_entropy",
                       "logits[..n,c] labels:i32[..n] -> loss[..n]") {
        labels_are_classes();
        doc = "loss = log sum exp(logits) - logits[label]; 0 where label is not in [0, c)";
    }
    Func logits = input("logits"), labels = input("labels");
    Func loss = output("loss");
    Func log_total{"offset"};

    // Strict, because the compiler would subtract in another order in the last rows of a call.
    void algorithm() override {
        exponentials(logits);
        log_total(n) = log(total(n));
        row_scalars = {log_total};
        const Expr label_logit = logits(class_of(labels), n) - row_max(n);
        loss(n) = select(is_class(labels), strict_float(log_total(n) - label_logit), 0_r);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            const int64_t label = int64_t(p("labels")(i));
            const bool is_class = label >= 0 && label < p["c"];
            p("loss")(i) = is_class ? double(log_sum_of(p, i) - p("logits")(i, label)) : 0;
        }
    }
};

struct SparseSoftmaxCrossEntropyDlogits : CrossEntropy {
    SparseSoftmaxCrossEntropyDlogits()
        : CrossEntropy("sparse_softmax_cross_entropy_dlogits",
                       "logits[..n,c] labels:i32[..n] dloss[..n] -> dlogits[..n,c]") {
        labels_are_classes();
        internal = true;
        contract = {Contract::products, 10};  // a probability minus 1 cancels
    }
    Func logits = input("logits"), labels = input("labels"), dloss = input("dloss");
    Func dlogits = output("dlogits");
    Func scale{"scale"};
    Func row_dloss{"own"};  // dloss, or 0 if the label is not a class

    void algorithm() override {
        exponentials(logits);
        row_dloss(n) = select(is_class(labels), dloss(n), 0_r);
        scale(n) = row_dloss(n) / total(n);
        row_scalars = {row_dloss, scale};
        row_maps = {exponential};
        dlogits(c, n) = select(
            is_class(labels),
            exponential(c, n) * scale(n) - select(c == labels(n), row_dloss(n), 0_r), 0_r);
    }
    // Errors of the logits' differences are relative errors of probabilities.
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["dlogits"] = Array(p("dlogits").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const int64_t label = int64_t(p("labels")(i));
            if (label < 0 || label >= p["c"]) continue;  // dlogits holds zeros
            const long double log_sum = log_sum_of(p, i);
            for (int64_t j = 0; j < p["c"]; j++) {
                const long double log_probability = p("logits")(i, j) - log_sum;
                const long double probability = std::exp(log_probability);
                p("dlogits")(i, j) = double(p("dloss")(i) * (probability - (j == label)));
                abs_sum(i,
                        j) = std::fabs(p("dloss")(i)) *
                             double(probability * (1 + std::fabs(log_probability)) + (j == label));
            }
        }
    }
};

// The kernels of nll_loss and cross_entropy: the negative of the label's element. The forward
// kernel reads one element of each row, and the gradient writes zeros and one number. There is no
// reduction along a row, so the schedules of Rows don't fit. A task has a block of 8 rows, or 32 if
// tuning finds that faster. The gradient is vectorised along c; the forward result has no such
// dimension.
struct Nll : RowLoss {
    Nll(const std::string &name, const std::string &signature) : RowLoss(name, signature) {
        labels_are_classes();
        internal = true;
        clear_variants();
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

struct NllForward : Nll {
    NllForward() : Nll("nll_kernel", "x[..n,c] labels:i32[..n] -> loss[..n]") {}
    Func x = input("x"), labels = input("labels");
    Func loss = output("loss");

    void algorithm() override {
        loss(n) = select(is_class(labels), math::negative(x(class_of(labels), n)), 0_r);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            const int64_t label = int64_t(p("labels")(i));
            p("loss")(i) = label < 0 || label >= p["c"] ? 0 : -p("x")(i, label);
        }
    }
};

struct NllDx : Nll {
    // x is an input for its shape only.
    NllDx() : Nll("nll_kernel_dx", "x[..n,c] labels:i32[..n] dloss[..n] -> dx[..n,c]") {}
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

// loss = sum_j labels_j (log sum exp(logits) - logits_j). The labels need not sum to 1.
struct SoftmaxCrossEntropy : CrossEntropy {
    SoftmaxCrossEntropy()
        : CrossEntropy("softmax_cross_entropy", "logits[..n,c] labels[..n,c] -> loss[..n]") {
        doc = "loss = sum labels * (log sum exp(logits) - logits)";
        contract = {Contract::products, 20};
    }
    Func logits = input("logits"), labels = input("labels");
    Func loss = output("loss");
    Func dot{"dot"}, log_total{"offset"};

    void algorithm() override {
        exponentials(logits);
        log_total(n) = log(total(n));
        dot(n) += labels(k, n) * (log_total(n) - (logits(k, n) - row_max(n)));
        row_reductions.push_back(dot);
        row_scalars = {log_total};
        loss(n) = dot(n);
    }
    void reference(Problem &p) const override {
        // The error bound is relative to the sum of |terms|, as terms of opposite sign cancel.
        Array &abs_sum = p.abs_sum["loss"] = Array(p("loss").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const long double log_sum = log_sum_of(p, i);
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const auto term = double(p("labels")(i, j) * (log_sum - p("logits")(i, j)));
                sum += term;
                abs_sum(i) += std::fabs(term);
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
        contract = {Contract::products, 20};
    }
    Func logits = input("logits"), labels = input("labels"), dloss = input("dloss");
    Func dlogits = output("dlogits");
    Func label_sum{"weight"}, scale{"scale"};

    void algorithm() override {
        exponentials(logits);
        label_sum(n) += labels(k, n);
        // Strict, because the compiler would divide in another order in the last rows of a call.
        scale(n) = strict_float(label_sum(n) / total(n));
        row_reductions.push_back(label_sum);
        row_scalars = {scale};
        row_maps = {exponential};
        dlogits(c, n) = strict_float(dloss(n) * (exponential(c, n) * scale(n) - labels(c, n)));
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["dlogits"] = Array(p("dlogits").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const long double log_sum = log_sum_of(p, i);
            long double sum = 0, abs_labels = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                sum += p("labels")(i, j);
                abs_labels += std::fabs(p("labels")(i, j));
            }
            for (int64_t j = 0; j < p["c"]; j++) {
                const long double log_probability = p("logits")(i, j) - log_sum;
                const long double probability = std::exp(log_probability);
                const double label = p("labels")(i, j);
                p("dlogits")(i, j) = double(p("dloss")(i) * (probability * sum - label));
                abs_sum(i, j) = std::fabs(p("dloss")(i)) *
                                double(probability * (1 + std::fabs(log_probability)) * abs_labels +
                                       std::fabs(label));
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
    Func log_total{"offset"};

    void algorithm() override {
        exponentials(logits);
        log_total(n) = log(total(n));
        row_scalars = {log_total};
        dlabels(c, n) = dloss(n) * (log_total(n) - (logits(c, n) - row_max(n)));
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            const long double log_sum = log_sum_of(p, i);
            for (int64_t j = 0; j < p["c"]; j++)
                p("dlabels")(i, j) = double(p("dloss")(i) * (log_sum - p("logits")(i, j)));
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<NllForward>();
    ops.add<NllDx>();
    ops.add<SparseSoftmaxCrossEntropy>();
    ops.add<SparseSoftmaxCrossEntropyDlogits>();
    ops.add<SoftmaxCrossEntropy>();
    ops.add<SoftmaxCrossEntropyDlogits>();
    ops.add<SoftmaxCrossEntropyDlabels>();
}

}  // namespace halyard
