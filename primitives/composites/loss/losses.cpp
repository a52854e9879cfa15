// Losses that have one term an element, and losses of distances between rows.
#include <cmath>

#include "primitives/composites/loss/loss.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/loss_terms.h"
#include "primitives/ops/select.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

// A loss that has a term for each element of `inputs`, which have one shape.
struct TermLine {
    std::string name, doc;
    std::vector<std::string> inputs;
    std::vector<std::pair<std::string, std::string>> scalars;
    Tensor (*terms)(const LossInputs &x);                           // The composition.
    double (*term)(const double *x, const std::vector<double> &s);  // One term, for the reference.
    std::string flag = "";  // Its value follows the scalars in s.
    std::string alias = "";
    std::vector<std::pair<std::string, std::string>> lets = {};
    std::vector<std::string> optional = {};
};

struct TermLoss : LossComposite {
    TermLine line;
    explicit TermLoss(const TermLine &l) : LossComposite(l.name, signature_of(l), l.doc), line(l) {
        alias = l.alias;
        optional = l.optional;
        for (auto &[scalar_name, value] : l.scalars)
            real(scalar_name, value);
        if (!l.flag.empty()) flag(l.flag, false);
        reduction();
        for (auto &[let_name, value] : l.lets)
            let(let_name, value);
        for (const std::string how : {"none", "mean", "sum"})
            samples.push_back("d0=2 d1=3 d2=17 reduction=" + how);
        if (!l.flag.empty()) samples.push_back("d0=2 d1=3 d2=17 " + l.flag + "=1");
    }
    static std::string signature_of(const TermLine &l) {
        std::string s;
        for (auto &input : l.inputs)
            s += input + "[*] ";
        return s + "-> loss[*]";
    }
    Tensor terms(const LossInputs &x) const override {
        for (size_t k = 1; k < line.inputs.size(); k++)
            expect_one_dtype(x.all(), {0, k});
        return line.terms(x);
    }
    void reference(Problem &p) const override {
        std::vector<double> x(line.inputs.size());
        std::vector<double> s;
        for (auto &[scalar_name, value] : line.scalars)
            s.push_back(p.real(scalar_name));
        if (!line.flag.empty()) s.push_back(double(p[line.flag]));
        Array loss = p(line.inputs[0]);
        for (size_t i = 0; i < loss.v.size(); i++) {
            for (size_t k = 0; k < x.size(); k++)
                x[k] = p(line.inputs[k]).v[i];
            loss.v[i] = line.term(x.data(), s);
        }
        reduce(p, loss);
    }
};

using X = const double *;

using S = const std::vector<double> &;

double floored_log(double v) {
    return std::isnan(v) || v < 0 ? NAN : std::fmax(std::log(v), -100);
}

double softplus(double x) {
    return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

double smooth_l1(double d, double beta) {
    return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;
}

const TermLine term_lines[] = {
    {.name = "mse_loss",
     .doc = "(input - target)^2",
     .inputs = {"input", "target"},
     .scalars = {},
     .terms = [](const LossInputs &x) { return F::squared_difference(x[0], x[1]); },
     .term = [](X x, S) { return (x[0] - x[1]) * (x[0] - x[1]); },
     .alias = "MSELoss"},
    {.name = "l1_loss",
     .doc = "|input - target|",
     .inputs = {"input", "target"},
     .scalars = {},
     .terms = [](const LossInputs &x) { return F::abs(x[0] - x[1]); },
     .term = [](X x, S) { return std::fabs(x[0] - x[1]); }},
    {.name = "smooth_l1_loss",
     .doc = "d^2 / (2 beta) where d = |input - target| < beta, else d - beta / 2",
     .inputs = {"input", "target"},
     .scalars = {{"beta", "1.0"}},
     .terms = [](const LossInputs &x) { return kernel::smooth_l1(x[0], x[1], x.positive("beta")); },
     .term = [](X x, S s) { return smooth_l1(std::fabs(x[0] - x[1]), s[0]); }},
    {.name = "huber_loss",
     .doc = "d^2 / 2 where d = |input - target| < delta, else delta (d - delta / 2)",
     .inputs = {"input", "target"},
     .scalars = {{"delta", "1.0"}},
     .terms =
         [](const LossInputs &x) {
             const double delta = x.positive("delta");
             const Tensor loss = kernel::smooth_l1(x[0], x[1], delta);
             return delta == 1 ? loss : loss * delta;
         },
     .term = [](X x, S s) { return s[0] * smooth_l1(std::fabs(x[0] - x[1]), s[0]); }},
    {.name = "binary_cross_entropy",
     .doc = "-weight (target log input + (1 - target) log(1 - input)), logarithms at least -100",
     .inputs = {"input", "target", "weight"},
     .scalars = {},
     .terms = [](const LossInputs &x) { return x.weighted(kernel::bce(x[0], x[1]), 2); },
     .term =
         [](X x, S) {
             return -x[2] * (x[1] * floored_log(x[0]) + (1 - x[1]) * floored_log(1 - x[0]));
         },
     .lets = {{"input_least", "0"}},
     .optional = {"weight"}},
    {.name = "binary_cross_entropy_with_logits",
     .doc = "-weight (pos_weight target log sigmoid(input) + (1 - target) log(1 - "
            "sigmoid(input)))",
     .inputs = {"input", "target", "weight", "pos_weight"},
     .scalars = {},
     .terms =
         [](const LossInputs &x) {
             const Tensor pos_weight = x[3].defined() ? x[3] : like(x[0], 1);
             return x.weighted(kernel::bce_logits(x[0], x[1], pos_weight), 2);
         },
     .term = [](X x,
                S) { return x[2] * (x[3] * x[1] * softplus(-x[0]) + (1 - x[1]) * softplus(x[0])); },
     .alias = "BCEWithLogitsLoss",
     .optional = {"weight", "pos_weight"}},
    {.name = "hinge_embedding_loss",
     .doc = "input where target is 1, else max(0, margin - input)",
     .inputs = {"input", "target"},
     .scalars = {{"margin", "1.0"}},
     .terms =
         [](const LossInputs &x) {
             const Tensor beyond = relu(x.real("margin") - x[0]);
             return F::select(F::equal(x[1], 1), x[0], beyond);
         },
     .term = [](X x, S s) { return x[1] == 1 ? x[0] : std::fmax(0, s[0] - x[0]); }},
    {.name = "soft_margin_loss",
     .doc = "log(1 + exp(-target input))",
     .inputs = {"input", "target"},
     .scalars = {},
     .terms = [](const LossInputs &x) { return F::softplus(-(x[0] * x[1])); },
     .term = [](X x, S) { return softplus(-x[0] * x[1]); }},
    {.name = "margin_ranking_loss",
     .doc = "max(0, -target (input1 - input2) + margin)",
     .inputs = {"input1", "input2", "target"},
     .scalars = {{"margin", "0.0"}},
     .terms = [](const LossInputs &x) { return relu(x[2] * (x[1] - x[0]) + x.real("margin")); },
     .term = [](X x, S s) { return std::fmax(0, -x[2] * (x[0] - x[1]) + s[0]); }},
    {.name = "gaussian_nll_loss",
     .doc = "(log v + (input - target)^2 / v) / 2 with v = max(var, eps), and with `full` + "
            "log(2 pi) / 2",
     .inputs = {"input", "target", "var"},
     .scalars = {{"eps", "1e-6"}},
     .terms =
         [](const LossInputs &x) {
             const Tensor v = F::maximum(x[2], x.real("eps"));
             const Tensor square = F::squared_difference(x[0], x[1]);
             const Tensor loss = (F::log(v) + square / v) * 0.5;
             return x.call.is_set("full") ? loss + 0.5 * std::log(2 * M_PI) : loss;
         },
     .term =
         [](X x, S s) {
             const double v = std::fmax(x[2], s[0]);
             return 0.5 * (std::log(v) + (x[0] - x[1]) * (x[0] - x[1]) / v) +
                    (s[1] != 0 ? 0.5 * std::log(2 * M_PI) : 0);
         },
     .flag = "full",
     .lets = {{"var_least", "1"}}},
    {.name = "poisson_nll_loss",
     .doc = "e^input - target input, the input being a logarithm",
     .inputs = {"input", "target"},
     .scalars = {},
     .terms = [](const LossInputs &x) { return F::exp(x[0]) - x[1] * x[0]; },
     .term = [](X x, S) { return std::exp(x[0]) - x[1] * x[0]; }},
};

struct KlDiv : LossComposite {
    KlDiv()
        : LossComposite(
              "kl_div", "input[*] target[*] -> loss[*]",
              "target (log target - input), 0 where target is 0; log_target: e^target (target - "
              "input); batchmean: the sum over the first extent") {
        choice("reduction", {"mean", "none", "sum", "batchmean"}, "KlDivReduction");
        flag("log_target", false);
        let("target_least", "0");
        samples = {"d0=2 d1=3 d2=17 reduction=none", "d0=3 d1=1 d2=7",
                   "d0=3 d1=2 d2=7 reduction=batchmean",
                   "d0=3 d1=1 d2=7 reduction=none log_target=1"};
        alias = "KLDivLoss";
    }
    Result compose(const Call &call) const override {
        const LossInputs x(call);
        const Tensor loss = terms(x);
        const bool batch_mean = x.reduction() == LossReduction::batchmean;
        return x.reduced(loss, batch_mean ? like(loss, double(loss.shape()[0])) : Tensor());
    }
    Tensor terms(const LossInputs &x) const override {
        expect_one_dtype(x.all(), {0, 1});
        if (x.call.is_set("log_target")) return F::exp(x[1]) * (x[1] - x[0]);
        return F::xlogy(x[1], x[1]) - x[1] * x[0];
    }
    void reference(Problem &p) const override {
        Array loss = p("input");
        for (size_t i = 0; i < loss.v.size(); i++) {
            const double x = p("input").v[i];
            const double t = p("target").v[i];
            loss.v[i] = p["log_target"] ? std::exp(t) * (t - x)
                        : t == 0        ? 0
                                        : t * (std::log(t) - x);
        }
        const bool batch_mean = LossReduction(p["reduction"]) == LossReduction::batchmean;
        reduce(p, loss, batch_mean ? double(p["d0"]) : 0);
    }
};

Tensor cosine(const Tensor &a, const Tensor &b, int axis, double eps) {
    const auto length = [&](const Tensor &t) { return F::maximum(F::reduce_l2(t, {axis}), eps); };
    return sum_along(a * b, axis) / (length(a) * length(b));
}

double cosine(Problem &p, int64_t i, double eps) {
    double dot = 0, a = 0, b = 0;
    for (int64_t j = 0; j < p["c"]; j++) {
        const double x = p("input1")(i, j);
        const double y = p("input2")(i, j);
        dot += x * y;
        a += x * x;
        b += y * y;
    }
    return dot / (std::fmax(std::sqrt(a), eps) * std::fmax(std::sqrt(b), eps));
}

struct CosineSimilarity : LossComposite {
    CosineSimilarity()
        : LossComposite(
              "cosine_similarity", "input1[n,c] input2[n,c] -> y[n]",
              "y = sum input1 input2 / (max(|input1|, eps) max(|input2|, eps)), along dim") {
        attr("dim", 1);
        real("eps", "1e-8");
        samples = {"n=3 c=1", "n=5 c=17"};
    }
    Result compose(const Call &call) const override {
        const LossInputs x(call);
        return x.as_given(terms(x));
    }
    Tensor terms(const LossInputs &x) const override {
        expect_one_dtype(x.all(), {0, 1});
        const int axis = normal_axis("cosine_similarity", x.call.integer("dim"), x[0].rank());
        return cosine(x[0], x[1], axis, x.real("eps"));
    }
    void reference(Problem &p) const override {
        Array y({p["n"]});
        for (int64_t i = 0; i < p["n"]; i++)
            y(i) = cosine(p, i, p.real("eps"));
        p.tensors["y"] = y;
    }
};

struct CosineEmbeddingLoss : LossComposite {
    CosineEmbeddingLoss()
        : LossComposite(
              "cosine_embedding_loss", "input1[n,c] input2[n,c] target:i32[n] -> loss[n]",
              "1 - cosine_similarity where target is 1, else max(0, cosine_similarity - margin)") {
        real("margin", "0.0");
        reduction();
        let("target_end", "2");
        samples = {"n=3 c=7 reduction=none", "n=5 c=17"};
    }
    Tensor terms(const LossInputs &x) const override {
        if (x[0].rank() == 0)
            throw ShapeError("cosine_embedding_loss", "input1 has rank 0, expected at least 1");
        expect_one_dtype(x.all(), {0, 1});
        const Tensor similarity = cosine(x[0], x[1], x[0].rank() - 1, 1e-12);
        const Tensor target = cast_to(x[2], similarity.dtype());
        const Tensor alike = F::equal(target, 1);
        return F::select(alike, 1 - similarity, relu(similarity - x.real("margin")));
    }
    void reference(Problem &p) const override {
        Array loss({p["n"]});
        for (int64_t i = 0; i < p["n"]; i++) {
            const double similarity = cosine(p, i, 1e-12);
            loss(i) = p("target")(i) == 1 ? 1 - similarity
                                          : std::fmax(0, similarity - p.real("margin"));
        }
        reduce(p, loss);
    }
};

struct TripletMarginLoss : LossComposite {
    TripletMarginLoss()
        : LossComposite(
              "triplet_margin_loss", "anchor[n,c] positive[n,c] negative[n,c] -> loss[n]",
              "max(0, d(anchor, positive) - d(anchor, negative) + margin), d(a, b) = |a - b + "
              "eps|; swap: the smaller of d(anchor, negative) and d(positive, "
              "negative)") {
        real("margin", "1.0");
        real("eps", "1e-6");
        flag("swap", false);
        reduction();
        samples = {"n=3 c=7 reduction=none", "n=5 c=17", "n=5 c=17 swap=1"};
    }
    Tensor terms(const LossInputs &x) const override {
        if (x[0].rank() == 0)
            throw ShapeError("triplet_margin_loss", "anchor has rank 0, expected at least 1");
        expect_one_dtype(x.all(), {0, 1, 2});
        const auto distance = [&](const Tensor &a, const Tensor &b) {
            return F::reduce_l2(a - b + x.real("eps"), {a.rank() - 1});
        };
        Tensor far = distance(x[0], x[2]);
        if (x.call.is_set("swap")) far = F::minimum(far, distance(x[1], x[2]));
        return relu(distance(x[0], x[1]) - far + x.real("margin"));
    }
    void reference(Problem &p) const override {
        auto distance = [&](const char *a, const char *b, int64_t i) {
            double sum = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                sum += std::pow(p(a)(i, j) - p(b)(i, j) + p.real("eps"), 2);
            return std::sqrt(sum);
        };
        Array loss({p["n"]});
        for (int64_t i = 0; i < p["n"]; i++) {
            double far = distance("anchor", "negative", i);
            if (p["swap"]) far = std::fmin(far, distance("positive", "negative", i));
            loss(i) = std::fmax(0, distance("anchor", "positive", i) - far + p.real("margin"));
        }
        reduce(p, loss);
    }
};

// smooth_l1_kernel is a function of x - target, so its gradient in the target is that in x,
// negated.
Tensor smooth_l1_in_target(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const RegisteredOp &in_x = registry().at(op.record.name + "_dx");
    return -Primitive(in_x, Attrs(in_x.record, op.record, attrs)).run(in)[0];
}

// Returns dy (log(1 - x) - log x), with logarithms of at least -100. in = {x, dy}.
Tensor bce_in_target(Tensors in, const RegisteredOp &, const Attrs &) {
    const Tensor least = like(in[0], -100);
    const auto floored = [&](const Tensor &t) { return F::maximum(t, least); };
    const Tensor log_not_x = floored(F::log1p(-in[0]));
    return in[1] * (log_not_x - floored(F::log(in[0])));
}

// Returns dy (-x + (pos_weight - 1) log(1 + e^-x)). in = {x, pos_weight, dy}.
Tensor bce_logits_in_target(Tensors in, const RegisteredOp &, const Attrs &) {
    const Tensor minus_x = -in[0];
    const Tensor more = in[1] - 1;
    return in[2] * (minus_x + more * F::softplus(minus_x));
}

// Returns dy target log(1 + e^-x). in = {x, target, dy}.
Tensor bce_logits_in_pos_weight(Tensors in, const RegisteredOp &, const Attrs &) {
    return in[1] * in[2] * F::softplus(-in[0]);
}

}  // namespace

HALYARD_COMPOSITES {
    for (const TermLine &line : term_lines)
        composites.add<TermLoss>(line);
    composites.add<KlDiv>();
    composites.add<CosineSimilarity>();
    composites.add<CosineEmbeddingLoss>();
    composites.add<TripletMarginLoss>();
    composites.gradient({"smooth_l1_kernel", "target", {"x", "target", "dy"}, smooth_l1_in_target});
    composites.gradient({"bce_kernel", "target", {"x", "dy"}, bce_in_target});
    composites.gradient(
        {"bce_logits_kernel", "target", {"x", "pos_weight", "dy"}, bce_logits_in_target});
    composites.gradient(
        {"bce_logits_kernel", "pos_weight", {"x", "target", "dy"}, bce_logits_in_pos_weight});
}

}  // namespace halyard
