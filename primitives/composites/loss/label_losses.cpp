// Losses of labels: the number of a class, or a probability for each class.
#include <algorithm>
#include <cmath>

#include "primitives/composites/argument_checks.h"
#include "primitives/composites/loss/loss.h"
#include "primitives/composites/places.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cross_entropy.h"
#include "primitives/ops/gather.h"
#include "primitives/ops/one_hot.h"
#include "primitives/ops/select.h"

namespace halyard {
namespace {

// Returns x with the class dimension, which is 1 or the only one, as the last.
Tensor classes_last(const char *op, const Tensor &x) {
    if (x.rank() == 0) throw ShapeError(op, "input has rank 0, expected at least 1 (n,c)");
    std::vector<int> order{0};
    for (int d = 2; d < x.rank(); d++)
        order.push_back(d);
    if (x.rank() > 1) order.push_back(1);
    return x.rank() <= 2 ? x : transposed(x, order);
}

// Returns the cost of each row, given a probability for every class. Probabilities needn't sum to
// 1.
Tensor dense_nll(const Tensor &x, const Tensor &p) {
    return -sum_along(x * p, x.rank() - 1);
}

struct RowCost {
    const char *op;
    // Compute it from the label of each row, and from the probabilities of all classes.
    Tensor (*of_label)(const Tensor &x, const Tensor &labels);
    Tensor (*of_probabilities)(const Tensor &x, const Tensor &p);
};

// Returns the loss of labels, with smoothing, weights and the mean over labels that aren't ignored.
// Classes are the last dimension of x.
Result of_labels(const LossInputs &c, const RowCost &loss, const Tensor &x) {
    const int64_t classes = x.shape()[x.rank() - 1];
    Shape rows = x.shape();
    rows.erase(rows.rank() - 1);
    if (!(c[1].shape() == rows)) {
        throw ShapeError(loss.op, "target has shape " + c[1].shape().text() + ", expected " +
                                      rows.text() + " from input" + c[0].shape().text());
    }
    const double smooth = c.real("label_smoothing");
    const int64_t ignore_index = c.call.integer("ignore_index");
    const Tensor given = labels_of(loss.op, "target", c[1], classes, ignore_index);
    const Tensor ignored = Tensor::scalar(
        double(std::clamp<int64_t>(ignore_index, INT32_MIN, INT32_MAX)), DType::i32);
    const Tensor labels = F::select(F::equal(given, ignored), Tensor::scalar(-1, DType::i32),
                                    given);
    const Tensor ones = Tensor::ones({classes}, x.dtype());
    // Returns the element of t for each label, 0 for an ignored label.
    const auto of_label = [&](const Tensor &t) {
        return reshaped(kernel::gather(reshaped(t, {1, classes, 1}),
                                       reshaped(labels, {labels.elements()}), like(x, 0)),
                        rows);
    };
    const Tensor weights = of_label(c[2].defined() ? c[2] : ones);
    if (smooth == 0) {
        const Tensor cost = loss.of_label(x, labels);
        return c.reduced(c[2].defined() ? cost * weights : cost, sum(weights));
    }
    Shape column = rows;
    column.push_back(1);
    const Tensor own = F::one_hot(labels, like(x, 1 - smooth), like(x, 0), classes);
    const Tensor share = reshaped(of_label(ones), column) * (smooth / double(classes));
    return c.reduced(loss.of_probabilities(x, c.weighted(own + share, 2)), sum(weights));
}

Result label_loss(const Call &call, const RowCost &loss) {
    const LossInputs c(call);
    const Tensor x = classes_last(loss.op, c[0]);
    const int64_t classes = x.shape()[x.rank() - 1];
    const double smooth = c.real("label_smoothing");
    if (!(smooth >= 0 && smooth <= 1)) {
        throw AttrError(loss.op,
                        "label_smoothing is " + std::to_string(smooth) + ", expected 0 to 1");
    }
    if (classes == 0) {
        throw ShapeError(loss.op,
                         "input" + c[0].shape().text() + " has no classes, expected 1 or more");
    }
    if (c[2].defined() && !(c[2].shape() == Shape{classes})) {
        throw ShapeError(loss.op, "weight has shape " + c[2].shape().text() + ", expected [" +
                                      std::to_string(classes) + "] from input" +
                                      c[0].shape().text());
    }
    if (c[2].defined()) expect_dtype(call, "weight", c[2], c[0].dtype());
    if (!is_float(c[1].dtype())) return of_labels(c, loss, x);
    if (!(c[1].shape() == c[0].shape())) {
        throw ShapeError(loss.op, "target has shape " + c[1].shape().text() + ", expected " +
                                      c[0].shape().text() + " of probabilities");
    }
    Tensor p = classes_last(loss.op, c[1]);
    if (smooth != 0) p = p * (1 - smooth) + smooth / double(classes);
    return c.reduced(loss.of_probabilities(x, c.weighted(p, 2)));
}

// Classes are dimension 1, or the only one. A label that is ignore_index costs nothing and isn't
// counted; others are 0 to c-1.
struct LabelLoss : LossComposite {
    const bool logits;
    explicit LabelLoss(bool of_logits)
        : LossComposite(
              of_logits ? "cross_entropy" : "nll_loss",
              "input[n,c] target:i32[n] weight[c] -> loss[n]",
              of_logits
                  ? "weight[target] (log sum exp(input) - input[target]), of label_smoothing "
                    "everywhere a share of the mean over all classes; target may hold "
                    "the probability of every class instead; mean: over the weights of the labels"
                  : "-weight[target] input[target], of label_smoothing everywhere a share of the "
                    "mean over all classes; mean: over the weights of the labels"),
          logits(of_logits) {
        attr("ignore_index", -100);
        reduction();
        real("label_smoothing", "0.0");
        let("target_end", "c");
        let("weight_least", "1");
        optional = {"weight"};
        if (!logits) alias = "NLLLoss";
        for (const std::string how :
             {"", "reduction=none", "reduction=sum", "label_smoothing=0.1", "ignore_index=1",
              "ignore_index=1 label_smoothing=0.3 reduction=none"})
            samples.push_back("n=5 c=7 " + how);
    }
    Result compose(const Call &call) const override {
        if (!logits) return label_loss(call, {"nll_loss", kernel::nll, dense_nll});
        return label_loss(
            call, {"cross_entropy", F::sparse_softmax_cross_entropy, F::softmax_cross_entropy});
    }
    void reference(Problem &p) const override {
        const double smooth = p.real("label_smoothing");
        const double classes = double(p["c"]);
        Array loss({p["n"]});
        double weights = 0;
        for (int64_t i = 0; i < p["n"]; i++) {
            const auto label = int64_t(p("target")(i));
            if (label == p["ignore_index"]) continue;
            double all = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                all += logits ? std::exp(p("input")(i, j)) : 0;
            if (logits) all = std::log(all);
            for (int64_t j = 0; j < p["c"]; j++) {
                loss(i) += (smooth / classes + (j == label ? 1 - smooth : 0)) * p("weight")(j) *
                           (all - p("input")(i, j));
            }
            weights += p("weight")(label);
        }
        reduce(p, loss, weights);
    }
};

}  // namespace

HALYARD_COMPOSITES {
    for (const bool logits : {true, false})
        composites.add<LabelLoss>(logits);
}

}  // namespace halyard
