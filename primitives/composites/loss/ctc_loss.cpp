// Connectionist temporal classification: Graves et al., 2006.
#include <algorithm>
#include <cmath>

#include "primitives/composites/loss/loss.h"
#include "primitives/composites/places.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/ctc.h"
#include "primitives/ops/select.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

// The labels and lengths of a call of ctc_loss, whose shapes fit. Throws ShapeError for one out of
// its bounds.
struct Sequences {
    Tensor targets, input_lengths, target_lengths;

    explicit Sequences(const LossInputs &c) {
        const char *op = "ctc_loss";
        const int64_t steps = c[0].shape()[0];
        const int64_t images = c[1].shape()[0];
        const int64_t places = c[1].shape()[1];
        input_lengths = labels_of(op, "input_lengths", c[2], steps + 1);
        target_lengths = labels_of(op, "target_lengths", c[3], places + 1);
        const auto *length = target_lengths.data<int32_t>();
        const int64_t longest = images ? *std::max_element(length, length + images) : 0;
        // A target with more labels than there are steps has no path, so longer targets are cut.
        // Labels after the longest target aren't read.
        const int64_t max_labels = std::min(longest, steps + 1);
        const Tensor given = c[1].dtype() == DType::i64 ? c[1].contiguous()
                                                        : cast_to(c[1], DType::i64).contiguous();
        targets = Tensor::zeros({images, std::max<int64_t>(1, max_labels)}, DType::i32);
        for (int64_t i = 0; i < images; i++)
            check_labels(op, given, i, length[i], c[0].shape()[2], max_labels);
        if (longest == max_labels) return;
        const Tensor cut = target_lengths.copy();
        for (int64_t i = 0; i < images; i++)
            cut.data<int32_t>()[i] = int32_t(std::min<int64_t>(length[i], max_labels));
        target_lengths = cut;  // which frees what `length` points to
    }

private:
    // Checks the `length` labels of target i, and copies the first `max_labels` of them.
    void check_labels(const char *op, const Tensor &given, int64_t i, int64_t length,
                      int64_t classes, int64_t max_labels) const {
        const int64_t *label = given.data<int64_t>() + i * given.shape()[1];
        int32_t *to = targets.data<int32_t>() + i * targets.shape()[1];
        for (int64_t k = 0; k < length; k++) {
            if (label[k] < 0 || label[k] >= classes) {
                throw ShapeError(op, "targets " + std::to_string(i) + "," + std::to_string(k) +
                                         " is " + std::to_string(label[k]) + ", expected 0 to " +
                                         std::to_string(classes - 1));
            }
            if (k < max_labels) to[k] = int32_t(label[k]);
        }
    }
};

struct CtcLoss : LossComposite {
    CtcLoss()
        : LossComposite(
              "ctc_loss",
              "log_probs[t,n,c] targets:i32[n,s] input_lengths:i32[n] target_lengths:i32[n] -> "
              "loss[n]",
              "-log of the probability of all paths that spell targets; mean: of losses over "
              "their target's length; zero_infinity: 0 where no path is long "
              "enough",
              400) {
        attr("blank", 0);
        reduction();
        flag("zero_infinity", false);
        let("targets_end", "c-1");
        let("input_lengths_end", "t+1");
        let("target_lengths_end", "s+1");
        alias = "CTCLoss";
        for (const std::string how : {"none", "sum", "mean zero_infinity=1"})
            samples.push_back("t=5 n=3 c=4 s=2 blank=3 reduction=" + how);
    }
    Tensor terms(const LossInputs &c) const override {
        const auto integers = [&](size_t k, const char *name) {
            if (!is_integer(c[k].dtype())) {
                throw DTypeError("ctc_loss", std::string(name) + " are " + name_of(c[k].dtype()) +
                                                 ", expected i32 or i64");
            }
        };
        integers(1, "targets");
        integers(2, "input_lengths");
        integers(3, "target_lengths");
        const auto loss_of = [&](const Tensor &targets, const Tensor &input_lengths,
                                 const Tensor &target_lengths) {
            return kernel::ctc(c[0], targets, input_lengths, target_lengths,
                               c.call.integer("blank"));
        };
        const Shape lengths = {c[0].rank() == 3 ? c[0].shape()[1] : -1};
        const bool fits = c[1].rank() == 2 && c[1].shape()[0] == lengths[0] &&
                          c[2].shape() == lengths && c[3].shape() == lengths;
        Tensor loss;
        if (fits) {
            const Sequences s(c);
            loss = loss_of(s.targets, s.input_lengths, s.target_lengths);
        } else {  // The kernel reports what doesn't fit.
            loss = loss_of(cast_to(c[1], DType::i32), cast_to(c[2], DType::i32),
                           cast_to(c[3], DType::i32));
        }
        if (c.call.integer("zero_infinity")) loss = F::select(F::is_inf(loss), 0, loss);
        if (c.reduction() == LossReduction::mean)
            loss = loss / F::maximum(cast_to(c[3], loss.dtype()), 1);
        return loss;
    }
    // Sums over all paths of t classes, an exponential number, which is independent of the kernel's
    // algorithm.
    void reference(Problem &p) const override {
        Array loss({p["n"]});
        Array shares({p["n"]});
        for (int64_t i = 0; i < p["n"]; i++) {
            std::vector<int64_t> path(static_cast<size_t>(p("input_lengths")(i)));
            double sum = 0;
            do {
                if (spells_target(p, path, i)) sum += std::exp(log_probability(p, path, i));
            } while (next_path(path, p["c"]));
            loss(i) = p["zero_infinity"] && sum == 0 ? 0 : -std::log(sum);
            shares(i) = loss(i) / std::fmax(1, p("target_lengths")(i));
        }
        const bool is_mean = LossReduction(p["reduction"]) == LossReduction::mean;
        reduce(p, is_mean ? shares : loss);
    }

private:
    // Advances `path` as a number with a digit for each step. Returns false after the last one.
    static bool next_path(std::vector<int64_t> &path, int64_t classes) {
        for (int64_t &label : path) {
            if (++label < classes) return true;
            label = 0;
        }
        return false;
    }
    static double log_probability(Problem &p, const std::vector<int64_t> &path, int64_t image) {
        double sum = 0;
        for (size_t step = 0; step < path.size(); step++)
            sum += p("log_probs")(int64_t(step), image, path[step]);
        return sum;
    }
    // Returns true if `path` is the target of `image` without blanks and repetitions.
    static bool spells_target(Problem &p, const std::vector<int64_t> &path, int64_t image) {
        std::vector<double> spelled;
        for (size_t step = 0; step < path.size(); step++) {
            const bool repeated = step > 0 && path[step - 1] == path[step];
            if (path[step] != p["blank"] && !repeated) spelled.push_back(double(path[step]));
        }
        if (double(spelled.size()) != p("target_lengths")(image)) return false;
        for (size_t k = 0; k < spelled.size(); k++)
            if (spelled[k] != p("targets")(image, int64_t(k))) return false;
        return true;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<CtcLoss>();
}

}  // namespace halyard
