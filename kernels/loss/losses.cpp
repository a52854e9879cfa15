// Losses, stated in terms of other ops: primitives/composites/losses.cpp. 16-bit floats are
// computed in f32. Names, defaults and semantics are MindSpore's ops (PyTorch's torch.nn.functional
// has the same names). A weight may be an undefined tensor: ones.
#include <cmath>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

struct Loss : Composite {
    Loss(const std::string &n, const std::string &sig_text, const std::string &formula,
         double ulps = 24)
        : Composite(n, sig_text, formula) {
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, ulps};
    }
    void real(const std::string &attr_name, const std::string &value) {
        attrs.push_back({attr_name, AttrKind::real, value, {}, {}});
    }
    void reduction() { choice("reduction", {"mean", "none", "sum"}); }
    // loss: what `none` gives. `mean` divides its sum by `over`, 0: their number.
    static void reduce(Problem &p, const Array &loss, double over = 0) {
        if (p["reduction"] == 1) {
            p.tensors["loss"] = loss;
            return;
        }
        double sum = 0;
        for (double v : loss.v)
            sum += v;
        Array y{Shape{}};
        y.v = {p["reduction"] == 2 ? sum : sum / (over > 0 ? over : double(loss.v.size()))};
        p.tensors["loss"] = y;
    }
};

// One line per loss that is a sum of terms, one for each element of `inputs`, which have one shape.
struct TermLine {
    std::string name, doc;
    std::vector<std::string> inputs;
    std::vector<std::pair<std::string, std::string>> scalars;
    double (*term)(const double *x, const std::vector<double> &s);
    std::string flag = "";  // stands after the scalars in s
    std::string alias = "";
    std::vector<std::pair<std::string, std::string>> lets = {};
};
struct TermLoss : Loss {
    TermLine line;
    explicit TermLoss(const TermLine &l) : Loss(l.name, signature_of(l), l.doc), line(l) {
        alias = l.alias;
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
const std::vector<TermLine> &term_lines() {
    static const std::vector<TermLine> all = {
        {.name = "mse_loss",
         .doc = "(input - target)^2",
         .inputs = {"input", "target"},
         .scalars = {},
         .term = [](X x, S) { return (x[0] - x[1]) * (x[0] - x[1]); },
         .alias = "MSELoss"},
        {.name = "l1_loss",
         .doc = "|input - target|",
         .inputs = {"input", "target"},
         .scalars = {},
         .term = [](X x, S) { return std::fabs(x[0] - x[1]); }},
        {.name = "smooth_l1_loss",
         .doc = "d^2 / (2 beta) where d = |input - target| < beta, else d - beta / 2",
         .inputs = {"input", "target"},
         .scalars = {{"beta", "1.0"}},
         .term = [](X x, S s) { return smooth_l1(std::fabs(x[0] - x[1]), s[0]); }},
        {.name = "huber_loss",
         .doc = "d^2 / 2 where d = |input - target| < delta, else delta (d - delta / 2)",
         .inputs = {"input", "target"},
         .scalars = {{"delta", "1.0"}},
         .term = [](X x, S s) { return s[0] * smooth_l1(std::fabs(x[0] - x[1]), s[0]); }},
        {.name = "binary_cross_entropy",
         .doc =
             "-weight (target log input + (1 - target) log(1 - input)), logarithms at least -100",
         .inputs = {"input", "target", "weight"},
         .scalars = {},
         .term =
             [](X x, S) {
                 return -x[2] * (x[1] * floored_log(x[0]) + (1 - x[1]) * floored_log(1 - x[0]));
             },
         .lets = {{"input_least", "0"}}},
        {.name = "binary_cross_entropy_with_logits",
         .doc = "-weight (pos_weight target log sigmoid(input) + (1 - target) log(1 - "
                "sigmoid(input)))",
         .inputs = {"input", "target", "weight", "pos_weight"},
         .scalars = {},
         .term =
             [](X x, S) {
                 return x[2] * (x[3] * x[1] * softplus(-x[0]) + (1 - x[1]) * softplus(x[0]));
             },
         .alias = "BCEWithLogitsLoss"},
        {.name = "hinge_embedding_loss",
         .doc = "input where target is 1, else max(0, margin - input)",
         .inputs = {"input", "target"},
         .scalars = {{"margin", "1.0"}},
         .term = [](X x, S s) { return x[1] == 1 ? x[0] : std::fmax(0, s[0] - x[0]); }},
        {.name = "soft_margin_loss",
         .doc = "log(1 + exp(-target input))",
         .inputs = {"input", "target"},
         .scalars = {},
         .term = [](X x, S) { return softplus(-x[0] * x[1]); }},
        {.name = "margin_ranking_loss",
         .doc = "max(0, -target (input1 - input2) + margin)",
         .inputs = {"input1", "input2", "target"},
         .scalars = {{"margin", "0.0"}},
         .term = [](X x, S s) { return std::fmax(0, -x[2] * (x[0] - x[1]) + s[0]); }},
        {.name = "gaussian_nll_loss",
         .doc = "(log v + (input - target)^2 / v) / 2 with v = max(var, eps), and with `full` + "
                "log(2 pi) / 2",
         .inputs = {"input", "target", "var"},
         .scalars = {{"eps", "1e-6"}},
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
         .term = [](X x, S) { return std::exp(x[0]) - x[1] * x[0]; }},
    };
    return all;
}

struct KlDiv : Loss {
    KlDiv()
        : Loss("kl_div", "input[*] target[*] -> loss[*]",
               "target (log target - input), 0 where target is 0; log_target: e^target (target - "
               "input); batchmean: the sum over the first extent") {
        choice("reduction", {"mean", "none", "sum", "batchmean"});
        flag("log_target", false);
        let("target_least", "0");
        samples = {"d0=2 d1=3 d2=17 reduction=none", "d0=3 d1=1 d2=7",
                   "d0=3 d1=2 d2=7 reduction=batchmean",
                   "d0=3 d1=1 d2=7 reduction=none log_target=1"};
        alias = "KLDivLoss";
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
        reduce(p, loss, p["reduction"] == 3 ? double(p["d0"]) : 0);
    }
};

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

struct CosineSimilarity : Loss {
    CosineSimilarity()
        : Loss("cosine_similarity", "input1[n,c] input2[n,c] -> y[n]",
               "y = sum input1 input2 / (max(|input1|, eps) max(|input2|, eps)), along dim") {
        attr("dim", 1);
        real("eps", "1e-8");
        samples = {"n=3 c=1", "n=5 c=17"};
    }
    void reference(Problem &p) const override {
        Array y({p["n"]});
        for (int64_t i = 0; i < p["n"]; i++)
            y(i) = cosine(p, i, p.real("eps"));
        p.tensors["y"] = y;
    }
};

struct CosineEmbeddingLoss : Loss {
    CosineEmbeddingLoss()
        : Loss("cosine_embedding_loss", "input1[n,c] input2[n,c] target:i32[n] -> loss[n]",
               "1 - cosine_similarity where target is 1, else max(0, cosine_similarity - margin)") {
        real("margin", "0.0");
        reduction();
        let("target_end", "2");
        samples = {"n=3 c=7 reduction=none", "n=5 c=17"};
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

struct TripletMarginLoss : Loss {
    TripletMarginLoss()
        : Loss("triplet_margin_loss", "anchor[n,c] positive[n,c] negative[n,c] -> loss[n]",
               "max(0, d(anchor, positive) - d(anchor, negative) + margin), d(a, b) = |a - b + "
               "eps|; swap: the smaller of d(anchor, negative) and d(positive, "
               "negative)") {
        real("margin", "1.0");
        real("eps", "1e-6");
        flag("swap", false);
        reduction();
        samples = {"n=3 c=7 reduction=none", "n=5 c=17", "n=5 c=17 swap=1"};
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

// Classes are dimension 1, or the only one. A label that is ignore_index costs nothing and doesn't
// count; others are 0 to c-1.
struct LabelLoss : Loss {
    const bool logits;
    explicit LabelLoss(bool of_logits)
        : Loss(of_logits ? "cross_entropy" : "nll_loss",
               "input[n,c] target:i32[n] weight[c] -> loss[n]",
               of_logits
                   ? "weight[target] (log sum exp(input) - input[target]), of label_smoothing "
                     "everywhere a share of the mean over all classes; target may hold "
                     "the "
                     "probability of every class instead; mean: over the weights of the labels"
                   : "-weight[target] input[target], of label_smoothing everywhere a share of the "
                     "mean over all classes; mean: over the weights of the labels"),
          logits(of_logits) {
        attr("ignore_index", -100);
        reduction();
        real("label_smoothing", "0.0");
        let("target_end", "c");
        let("weight_least", "1");
        if (!logits) alias = "NLLLoss";
        for (const std::string how :
             {"", "reduction=none", "reduction=sum", "label_smoothing=0.1", "ignore_index=1",
              "ignore_index=1 label_smoothing=0.3 reduction=none"})
            samples.push_back("n=5 c=7 " + how);
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

struct CtcLoss : Loss {
    CtcLoss()
        : Loss("ctc_loss",
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
    // Over all paths of t classes: exponential, and nothing like the kernel.
    void reference(Problem &p) const override {
        Array loss({p["n"]});
        Array shares({p["n"]});
        for (int64_t i = 0; i < p["n"]; i++) {
            const auto steps = int64_t(p("input_lengths")(i));
            const auto length = int64_t(p("target_lengths")(i));
            double sum = 0;
            std::vector<int64_t> path(static_cast<size_t>(steps));
            for (bool more = true; more;) {
                double probability = 0;
                std::vector<int64_t> spelled;
                for (int64_t step = 0; step < steps; step++) {
                    const int64_t own = path[size_t(step)];
                    probability += p("log_probs")(step, i, own);
                    if (own != p["blank"] && (step == 0 || path[size_t(step) - 1] != own))
                        spelled.push_back(own);
                }
                bool same = int64_t(spelled.size()) == length;
                for (int64_t k = 0; same && k < length; k++)
                    same = double(spelled[size_t(k)]) == p("targets")(i, k);
                sum += same ? std::exp(probability) : 0;
                more = false;
                for (size_t k = 0; k < path.size() && !more; k++) {
                    more = ++path[k] < p["c"];
                    path[k] = more ? path[k] : 0;
                }
            }
            loss(i) = p["zero_infinity"] && sum == 0 ? 0 : -std::log(sum);
            shares(i) = loss(i) / std::fmax(1, double(length));
        }
        reduce(p, p["reduction"] == 0 ? shares : loss);
    }
};

}  // namespace

HALYARD_OPS {
    for (const TermLine &line : term_lines())
        ops.add<TermLoss>(line);
    ops.add<KlDiv>();
    ops.add<CosineSimilarity>();
    ops.add<CosineEmbeddingLoss>();
    ops.add<TripletMarginLoss>();
    ops.add<CtcLoss>();
    for (const bool logits : {true, false})
        ops.add<LabelLoss>(logits);
}

}  // namespace halyard
