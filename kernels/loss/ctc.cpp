// Connectionist temporal classification and its gradient: Graves, Fernandez, Gomez, Schmidhuber:
// "Connectionist temporal classification: labelling unsegmented sequence data with recurrent neural
// networks", ICML 2006. In logarithms, so that no path underflows.
//
// A target of l labels stands as 2 l + 1 places, blanks at the even ones. alpha(place, t) is the
// log probability of all paths that are at `place` at time t, beta that of the paths from there to
// the end. Images of a batch are the lanes of vectors.
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
    // the last place
    Expr end() const { return 2 * clamp(target_lengths(n), 0, size("s")); }
    Expr label(const Expr &place) const {
        const Expr target = clamp(targets(clamp(place / 2, 0, size("s") - 1), n), 0, size("c") - 1);
        return select(place % 2 == 0, clamp(blank, 0, size("c") - 1), target);
    }
    // May a path go from place - 2 to place? Not over a label, and not from one to its like.
    Expr skips(const Expr &place) const {
        return place % 2 == 1 && label(place) != label(place - 2);
    }
    // Strict wherever -infinity may be an operand: otherwise Halide lets LLVM assume that there is
    // none.
    static Expr log_sum_of(const Expr &a, const Expr &b, const Expr &c) {
        // NaN wins
        auto larger = [](const Expr &x, const Expr &y) {
            return select(y > x || math::is_nan(y), y, x);
        };
        const Expr m = larger(larger(a, b), c);
        const Expr from = select(m == math::lowest(), 0_r, m);
        auto part = [&](const Expr &e) { return exp(strict_float(e - from)); };
        return strict_float(from + log(part(a) + part(b) + part(c)));
    }
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
    // The last update runs over the places and times of `scan`.
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

    // For references: of image i, alpha or, from the end, beta of all places and times.
    struct Places {
        int64_t places, steps;
        std::vector<double> v;
        double &operator()(int64_t place, int64_t step) { return v[size_t(step * places + place)]; }
        double at(int64_t place, int64_t step) const {
            return place < 0 || place >= places ? -INFINITY : v[size_t(step * places + place)];
        }
    };
    static int64_t label_of(const Problem &p, int64_t i, int64_t place) {
        return place % 2 == 0 ? p["blank"] : int64_t(p.tensors.at("targets")(i, place / 2));
    }
    static Places empty(Problem &p, int64_t i) {
        const auto places = 2 * int64_t(p("target_lengths")(i)) + 1;
        const auto steps = int64_t(p("input_lengths")(i));
        return {places, steps, std::vector<double>(size_t(places * steps), -INFINITY)};
    }
    static Places alpha_of(Problem &p, int64_t i) {
        Places a = empty(p, i);
        for (int64_t step = 0; step < a.steps; step++) {
            for (int64_t place = 0; place < a.places; place++) {
                const int64_t own = label_of(p, i, place);
                const bool skip = place % 2 == 1 && place > 1 && own != label_of(p, i, place - 2);
                const double before = step == 0
                                          ? (place < 2 ? 0 : -INFINITY)
                                          : log_sum(a.at(place, step - 1),
                                                    a.at(place - 1, step - 1),
                                                    skip ? a.at(place - 2, step - 1) : -INFINITY);
                a(place, step) = before + p("log_probs")(step, i, own);
            }
        }
        return a;
    }
    static double total_of(const Places &a) {
        if (a.steps == 0) return a.places == 1 ? 0 : -INFINITY;
        return log_sum(a.at(a.places - 1, a.steps - 1), a.at(a.places - 2, a.steps - 1), -INFINITY);
    }
    // Every step rounds a logarithm that may be as large as all before it together.
    static double size_of(Problem &p, int64_t i) {
        double size = 1;
        for (int64_t step = 0; step < p["t"]; step++) {
            double most = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                most = std::fmax(most, std::fabs(p("log_probs")(step, i, j)));
            size += most;
        }
        return size * double(p["t"]);
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
            p.abs_sum["loss"](i) = size_of(p, i);
        }
    }
};

// dlog_probs = -dloss (probability to be at a place of this class at this time, given the target);
// 0 where the loss is infinite. PyTorch's differs by e^log_probs, which is nothing behind a
// log_softmax.
struct CtcLossDx : Ctc {
    CtcLossDx() : Ctc("_dlog_probs", " dloss[n]", "dlog_probs[t,n,c]") {}
    Func dloss = input("dloss");
    Func dlog_probs = output("dlog_probs");
    Func beta{"beta"}, sum{"sum"};
    RDom places, back;

    void algorithm() override {
        forward();
        places = RDom(0, 2 * size("s") + 1);
        back = RDom(0, 2 * size("s") + 1, 0, size("t"));
        const Expr time = size("t") - 1 - back.y;
        const Expr at = 2 * size("s") - back.x;
        const Expr later = min(time + 1, size("t") - 1);
        beta(n, l, t) = math::lowest();
        auto ahead = [&](const Expr &to) {
            return strict_float(beta(n, to, time + 1) + log_probs(label(to), n, later));
        };
        const Expr goes_on = log_sum_of(ahead(at), ahead(at + 1),
                                        select(skips(at + 2), ahead(at + 2), math::lowest()));
        beta(n, at, time) = select(time == steps() - 1,
                                   select(at == end() || at == end() - 1, 0_r, math::lowest()),
                                   time >= steps(), math::lowest(), goes_on);
        const Expr posterior = exp(
            strict_float(alpha(n, places, t) + beta(n, places, t) - total(n)));
        sum(c, n, t) = 0_r;
        sum(label(places), n, t) += select(
            t < steps() && places <= end() && total(n) != math::lowest(), posterior, 0_r);
        dlog_probs(c, n, t) = math::negative(sum(c, n, t) * dloss(n));
    }
    void schedule(const Cpu &cpu) override {
        schedule_scan(alpha, k, cpu.lanes);
        schedule_scan(beta, back, cpu.lanes);
        total.compute_root();
        sum.compute_root().parallel(t).update().parallel(t);
        dlog_probs.parallel(t);
    }
    void reference(Problem &p) const override {
        Array &size = p.abs_sum["dlog_probs"] = p("dlog_probs");
        std::fill(p("dlog_probs").v.begin(), p("dlog_probs").v.end(), 0.0);
        for (int64_t i = 0; i < p["n"]; i++) {
            const Places a = alpha_of(p, i);
            const double all = total_of(a);
            const double steps = size_of(p, i);
            for (int64_t step = 0; step < p["t"]; step++) {
                for (int64_t j = 0; j < p["c"]; j++)
                    size(step, i, j) = std::fabs(p("dloss")(i)) * steps;
            }
            Places b = empty(p, i);
            for (int64_t step = std::isinf(all) && all < 0 ? 0 : a.steps; step-- > 0;) {
                for (int64_t place = a.places; place-- > 0;) {
                    auto ahead = [&](int64_t to) {
                        return to < a.places ? b.at(to, step + 1) +
                                                   p("log_probs")(step + 1, i, label_of(p, i, to))
                                             : -INFINITY;
                    };
                    const bool skip = place % 2 == 1 && place + 2 < a.places &&
                                      label_of(p, i, place) != label_of(p, i, place + 2);
                    b(place, step) = step == a.steps - 1
                                         ? (place >= a.places - 2 ? 0 : -INFINITY)
                                         : log_sum(ahead(place), ahead(place + 1),
                                                   skip ? ahead(place + 2) : -INFINITY);
                    p("dlog_probs")(step, i, label_of(p, i, place)) -= std::exp(
                        a.at(place, step) + b.at(place, step) - all);
                }
            }
            for (int64_t step = 0; step < p["t"]; step++) {
                for (int64_t j = 0; j < p["c"]; j++)
                    p("dlog_probs")(step, i, j) *= p("dloss")(i);
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
