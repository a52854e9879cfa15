// Connectionist temporal classification and its gradient (Graves, Fernandez, Gomez, Schmidhuber:
// "Connectionist temporal classification: labelling unsegmented sequence data with recurrent neural
// networks", ICML 2006). Probabilities are logarithms, so that no path underflows.
//
// A target of l labels has 2 l + 1 states; the even ones are blanks. alpha(state, t) is the log
// probability of all paths that are in `state` at time t, beta(state, t) that of the paths from
// there to the end. The lanes of a vector are images of the batch, because an image's states and
// times depend on each other.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::strict_float;

double log_sum(double a, double b, double c) {
    const double m = std::isnan(a) || std::isnan(b) || std::isnan(c)
                         ? NAN
                         : std::fmax(a, std::fmax(b, c));
    const double from = std::isinf(m) && m < 0 ? 0 : m;
    return from + std::log(std::exp(a - from) + std::exp(b - from) + std::exp(c - from));
}

struct Ctc : Op {
    Ctc(const std::string &suffix, const std::string &gradient, const std::string &outputs)
        : Op("ctc_kernel" + suffix,
             "log_probs[t,n,c] targets:i32[n,s] input_lengths:i32[n] target_lengths:i32[n]" +
                 gradient + " -> " + outputs) {
        internal = true;
        dtypes = {"f32", "f64"};
        conditions = {"t>0", "s>0", "blank>=0", "blank<c"};
        let("targets_end", "c");
        let("input_lengths_end", "t+1");
        let("target_lengths_end", "s+1");
        samples = {"t=1 n=1 c=2 s=1", "t=7 n=3 c=4 s=2", "t=13 n=17 c=5 s=3 blank=4",
                   "t=20 n=2 c=7 s=5"};
        bench = {"t=128 n=32 c=64 s=24"};
        contract = {Contract::products, 8};
    }
    Func log_probs = input("log_probs"), targets = input("targets"),
         input_lengths = input("input_lengths"), target_lengths = input("target_lengths");
    Expr blank = scalar("blank", 0);
    Func alpha{"alpha"}, total{"total"};
    Var c{"c"}, n{"n"}, t{"t"}, l{"l"};
    RDom first, k;

    Expr steps() const { return clamp(input_lengths(n), 0, size("t")); }
    // Returns the last state.
    Expr end() const { return 2 * clamp(target_lengths(n), 0, size("s")); }
    Expr label(const Expr &state) const {
        const Expr target = clamp(targets(clamp(state / 2, 0, size("s") - 1), n), 0, size("c") - 1);
        return select(state % 2 == 0, clamp(blank, 0, size("c") - 1), target);
    }
    // Returns true if a path may go from state - 2 to state: it may skip a blank between two
    // different labels, but no label.
    Expr skips(const Expr &state) const {
        return state % 2 == 1 && label(state) != label(state - 2);
    }
    // Returns log(e^a + e^b + e^c). It is strict wherever an operand may be -infinity, because
    // otherwise Halide lets LLVM assume that none is.
    static Expr log_sum_of(const Expr &a, const Expr &b, const Expr &c) {
        // Returns NaN if an operand is NaN.
        auto larger = [](const Expr &x, const Expr &y) {
            return select(y > x || math::is_nan(y), y, x);
        };
        const Expr m = larger(larger(a, b), c);
        const Expr from = select(m == math::lowest(), 0_r, m);
        auto part = [&](const Expr &e) { return exp(strict_float(e - from)); };
        return strict_float(from + log(part(a) + part(b) + part(c)));
    }
    // Defines alpha and the log probability of all paths that spell the target.
    void forward() {
        first = RDom(0, 2);
        k = RDom(0, 2 * size("s") + 1, 1, size("t") - 1);
        alpha(n, l, t) = math::lowest();
        alpha(n, first, 0) = log_probs(label(first), n, 0);
        const Expr skipped = select(skips(k.x), alpha(n, k.x - 2, k.y - 1), math::lowest());
        const Expr reached = log_sum_of(alpha(n, k.x, k.y - 1), alpha(n, k.x - 1, k.y - 1),
                                        skipped);
        alpha(n, k.x, k.y) = strict_float(reached + log_probs(label(k.x), n, k.y));
        const Expr last = max(steps() - 1, 0);
        const Expr at_blank = alpha(n, clamp(end(), 0, 2 * size("s")), last);
        const Expr at_label = select(end() > 0, alpha(n, clamp(end() - 1, 0, 2 * size("s")), last),
                                     math::lowest());
        total(n) = select(steps() > 0, log_sum_of(at_blank, at_label, math::lowest()), end() == 0,
                          0_r, math::lowest());
    }
    // Schedules alpha or beta. The last update runs over the states and times of `scan`, for one
    // vector of images after another.
    void schedule_scan(Func f, const RDom &scan, int v) {
        Var vec("vec");
        const int updates = f.num_update_definitions();
        f.compute_root()
            .split(n, vec, n, v, Tail::GuardWithIf)
            .reorder(n, l, t, vec)
            .vectorize(n)
            .parallel(vec);
        for (int u = 0; u < updates; u++)
            f.update(u).split(n, vec, n, v, Tail::GuardWithIf).vectorize(n).parallel(vec);
        if (updates > 1) f.update(0).reorder(n, first, vec);
        f.update(updates - 1).reorder(n, scan.x, scan.y, vec);
    }

    // Alpha or beta of all states and times of an image, for references.
    struct Lattice {
        int64_t states, steps;
        std::vector<double> v;
        double &operator()(int64_t state, int64_t step) { return v[size_t(step * states + state)]; }
        double at(int64_t state, int64_t step) const {
            return state < 0 || state >= states ? -INFINITY : v[size_t(step * states + state)];
        }
    };
    static int64_t label_of(const Problem &p, int64_t i, int64_t state) {
        return state % 2 == 0 ? p["blank"] : int64_t(p.tensors.at("targets")(i, state / 2));
    }
    static Lattice empty(Problem &p, int64_t i) {
        const auto states = 2 * int64_t(p("target_lengths")(i)) + 1;
        const auto steps = int64_t(p("input_lengths")(i));
        return {states, steps, std::vector<double>(size_t(states * steps), -INFINITY)};
    }
    static Lattice alpha_of(Problem &p, int64_t i) {
        Lattice a = empty(p, i);
        for (int64_t step = 0; step < a.steps; step++) {
            for (int64_t state = 0; state < a.states; state++) {
                // No path begins with these, whatever their label's probability.
                if (step == 0 && state > 1) continue;
                const int64_t own = label_of(p, i, state);
                const bool skip = state % 2 == 1 && state > 1 && own != label_of(p, i, state - 2);
                const double before = step == 0
                                          ? 0
                                          : log_sum(a.at(state, step - 1),
                                                    a.at(state - 1, step - 1),
                                                    skip ? a.at(state - 2, step - 1) : -INFINITY);
                a(state, step) = before + p("log_probs")(step, i, own);
            }
        }
        return a;
    }
    static Lattice beta_of(Problem &p, int64_t i) {
        Lattice b = empty(p, i);
        for (int64_t step = b.steps; step-- > 0;) {
            const auto ahead = [&](int64_t to) {
                return to < b.states
                           ? b.at(to, step + 1) + p("log_probs")(step + 1, i, label_of(p, i, to))
                           : -INFINITY;
            };
            for (int64_t state = b.states; state-- > 0;) {
                const bool skip = state % 2 == 1 && state + 2 < b.states &&
                                  label_of(p, i, state) != label_of(p, i, state + 2);
                b(state, step) = step == b.steps - 1 ? (state >= b.states - 2 ? 0 : -INFINITY)
                                                     : log_sum(ahead(state), ahead(state + 1),
                                                               skip ? ahead(state + 2) : -INFINITY);
            }
        }
        return b;
    }
    static double total_of(const Lattice &a) {
        if (a.steps == 0) return a.states == 1 ? 0 : -INFINITY;
        return log_sum(a.at(a.states - 1, a.steps - 1), a.at(a.states - 2, a.steps - 1), -INFINITY);
    }
    // Returns a bound of the logarithms' sizes times the steps: every step rounds a logarithm that
    // may be as large as the sum of those before it.
    static double abs_sum_of(Problem &p, int64_t i) {
        double abs_sum = 1;
        for (int64_t step = 0; step < p["t"]; step++) {
            double largest = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                largest = std::fmax(largest, std::fabs(p("log_probs")(step, i, j)));
            abs_sum += largest;
        }
        return abs_sum * double(p["t"]);
    }
};

struct CtcLoss : Ctc {
    CtcLoss() : Ctc("", "", "loss[n]") {
        doc = "loss = -log of the probability of all paths that spell the target; infinite where "
              "none is long enough";
    }
    Func loss = output("loss");

    void algorithm() override {
        forward();
        loss(n) = math::negative(total(n));
    }
    void schedule(const Cpu &cpu) override { schedule_scan(alpha, k, cpu.lanes); }
    void reference(Problem &p) const override {
        p.abs_sum["loss"] = p("loss");
        for (int64_t i = 0; i < p["n"]; i++) {
            p("loss")(i) = -total_of(alpha_of(p, i));
            p.abs_sum["loss"](i) = abs_sum_of(p, i);
        }
    }
};

// dlog_probs = -dloss times the probability of being in a state of this class at this time, given
// the target. It is 0 if the loss is infinite. PyTorch's gradient differs by e^log_probs, which
// contributes nothing to the gradient of a preceding log_softmax.
struct CtcLossDx : Ctc {
    CtcLossDx() : Ctc("_dlog_probs", " dloss[n]", "dlog_probs[t,n,c]") {}
    Func dloss = input("dloss");
    Func dlog_probs = output("dlog_probs");
    Func beta{"beta"}, sum{"sum"};
    RDom states, backward;

    void algorithm() override {
        forward();
        states = RDom(0, 2 * size("s") + 1);
        backward = RDom(0, 2 * size("s") + 1, 0, size("t"));
        const Expr time = size("t") - 1 - backward.y;
        const Expr at = 2 * size("s") - backward.x;
        const Expr later = min(time + 1, size("t") - 1);
        beta(n, l, t) = math::lowest();
        // States past the target's last one are never reached, whatever the probability of their
        // label: -infinity plus infinity or NaN would be NaN. Their beta is read in the condition,
        // and lengths have no bounds here, so that beta has all elements that are read where both
        // sides of a select are evaluated.
        const Expr length = input_lengths(n);
        auto ahead = [&](const Expr &to) -> Expr {
            const Expr from = beta(n, to, time + 1);
            const Expr is_past_end = strict_float(from == math::lowest()) && to > end();
            return select(is_past_end, math::lowest(),
                          strict_float(from + log_probs(label(to), n, later)));
        };
        const Expr continued = log_sum_of(ahead(at), ahead(at + 1),
                                          select(skips(at + 2), ahead(at + 2), math::lowest()));
        beta(n, at, time) = select(time == length - 1,
                                   select(at == end() || at == end() - 1, 0_r, math::lowest()),
                                   time >= length, math::lowest(), continued);
        const Expr posterior = exp(
            strict_float(alpha(n, states, t) + beta(n, states, t) - total(n)));
        sum(c, n, t) = 0_r;
        sum(label(states), n, t) += select(
            t < steps() && states <= end() && total(n) != math::lowest(), posterior, 0_r);
        dlog_probs(c, n, t) = math::negative(sum(c, n, t) * dloss(n));
    }
    void schedule(const Cpu &cpu) override {
        schedule_scan(alpha, k, cpu.lanes);
        schedule_scan(beta, backward, cpu.lanes);
        total.compute_root();
        sum.compute_root().parallel(t).update().parallel(t);
        dlog_probs.parallel(t);
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["dlog_probs"] = p("dlog_probs");
        std::fill(p("dlog_probs").v.begin(), p("dlog_probs").v.end(), 0.0);
        for (int64_t i = 0; i < p["n"]; i++) {
            subtract_posteriors(p, i);
            const double size = abs_sum_of(p, i);
            for (int64_t step = 0; step < p["t"]; step++) {
                for (int64_t j = 0; j < p["c"]; j++) {
                    p("dlog_probs")(step, i, j) *= p("dloss")(i);
                    abs_sum(step, i, j) = std::fabs(p("dloss")(i)) * size;
                }
            }
        }
    }
    // Subtracts from dlog_probs of image i the probability of every state at every time, given the
    // target. There is none if no path spells the target.
    static void subtract_posteriors(Problem &p, int64_t i) {
        const Lattice from_start = alpha_of(p, i);
        const double log_total = total_of(from_start);
        if (std::isinf(log_total) && log_total < 0) return;
        const Lattice to_end = beta_of(p, i);
        for (int64_t step = from_start.steps; step-- > 0;) {
            for (int64_t state = from_start.states; state-- > 0;) {
                p("dlog_probs")(step, i, label_of(p, i, state)) -= std::exp(
                    from_start.at(state, step) + to_end.at(state, step) - log_total);
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<CtcLoss>();
    ops.add<CtcLossDx>();
}

}  // namespace halyard
