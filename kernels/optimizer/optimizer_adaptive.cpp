// Parameter updates whose step is divided by the magnitude of past gradients, element by element.
// The formulas are MindSpore's.
#include "kernels/optimizer/update.h"

namespace halyard {
namespace {

// The base of these updates. finish() adds the last scalars, after those of the derived class.
// Samples have states for which the formula is defined: sums of squares are at least 0.
struct Adaptive : Update {
    Func p = input("p");
    Expr lr, decay, scale;
    Adaptive(const std::string &n, const std::string &inputs, const std::string &outputs,
             const std::string &formula, double rate)
        : Update(n, "p[*] " + inputs + " g[*]", "p_out[*] " + outputs) {
        doc = formula + "; g = scale g + weight_decay p";
        lr = scalar("lr", rate);
        samples.push_back("d0=2 d1=3 d2=17 weight_decay=0.05 scale=0.5");
    }
    void finish() {
        decay = scalar("weight_decay", 0.0);
        scale = scalar("scale", 1.0);
    }
    Expr gradient(const Func &g) const { return g(Halide::_) * scale + decay * p(Halide::_); }
    static double gradient(const Problem &q, double p0, double g0) {
        return g0 * q.real("scale") + q.real("weight_decay") * p0;
    }
};

struct Adagrad : Adaptive {
    Func s = input("s"), g = input("g");
    Func p_out = output("p_out"), s_out = output("s_out");
    Expr eps = scalar("eps", 1e-10);
    Adagrad()
        : Adaptive("adagrad_", "s[*]", "s_out[*]", "s = s + g^2; p = p - lr g / (sqrt s + eps)",
                   0.001) {
        alias = "ApplyAdagradV2";
        let("s_least", "0");
        finish();
    }
    void algorithm() override {
        const Expr grad = gradient(g);
        s_out(Halide::_) = s(Halide::_) + grad * grad;
        p_out(Halide::_) = p(Halide::_) - lr * grad / (sqrt(s_out(Halide::_)) + eps);
    }
    void reference(Problem &q) const override {
        // An error d of g changes sqrt s by at most d, because |g| <= sqrt s.
        each_abs_sum(q, [&](const double *in, double *o) {
            const double grad = gradient(q, in[0], in[2]);
            const double abs_grad = abs_gradient(q, in[0], in[2]);
            o[1] = std::fabs(in[1]) + abs_grad * abs_grad;
            o[0] = std::fabs(in[0]) +
                   2 * q.real("lr") * abs_grad / (std::sqrt(in[1] + grad * grad) + q.real("eps"));
        });
        each(q, [&](const double *in, double *o) {
            const double grad = gradient(q, in[0], in[2]);
            o[1] = in[1] + grad * grad;
            o[0] = in[0] - q.real("lr") * grad / (std::sqrt(o[1]) + q.real("eps"));
        });
    }
};

// s and, if centered, a are moving averages of g^2 and g; s - a^2 is the variance.
struct RmsProp : Adaptive {
    const bool centered;
    Func a, s, m, g;
    Func p_out = output("p_out");
    Func a_out, s_out, m_out;
    Expr rho = scalar("decay", 0.9), momentum = scalar("momentum", 0.0), eps = scalar("eps", 1e-10);
    explicit RmsProp(bool c)
        : Adaptive(c ? "centered_rms_prop_" : "rms_prop_", c ? "a[*] s[*] m[*]" : "s[*] m[*]",
                   c ? "a_out[*] s_out[*] m_out[*]" : "s_out[*] m_out[*]",
                   std::string(c ? "a = decay a + (1 - decay) g; " : "") +
                       "s = decay s + (1 - decay) g^2; m = momentum m + lr g / sqrt(s" +
                       (c ? " - a^2" : "") + " + eps); p = p - m",
                   0.01),
          centered(c) {
        alias = c ? "ApplyCenteredRMSProp" : "ApplyRMSProp";
        if (c) a = input("a");
        s = input("s");
        m = input("m");
        g = input("g");
        if (c) a_out = output("a_out");
        s_out = output("s_out");
        m_out = output("m_out");
        let("s_least", c ? "5" : "0");  // for centered, more than a^2
        finish();
        samples.push_back("d0=2 d1=3 d2=17 momentum=0.9");
    }
    void algorithm() override {
        const Expr grad = gradient(g);
        if (centered) a_out(Halide::_) = rho * a(Halide::_) + (1_r - rho) * grad;
        s_out(Halide::_) = rho * s(Halide::_) + (1_r - rho) * grad * grad;
        Expr variance = s_out(Halide::_);
        if (centered) {
            variance -= a_out(Halide::_) * a_out(Halide::_);
            variance = max(variance, 0_r);  // rounding may make it negative
        }
        m_out(Halide::_) = momentum * m(Halide::_) + lr * grad / sqrt(variance + eps);
        p_out(Halide::_) = p(Halide::_) - m_out(Halide::_);
    }
    // Terms cancel in the gradient and in s - a^2, so the reference gives their absolute values
    // too.
    void reference(Problem &q) const override {
        const double k = q.real("decay"), eps0 = q.real("eps");
        for (auto &t : sig.outputs)
            q.abs_sum[t.name] = Array(q(t.name).shape);
        size_t i = 0;
        each(q, [&](const double *in, double *o) {
            const double *state = in + (centered ? 2 : 1);
            const double grad = gradient(q, in[0], state[2]);
            const double abs_grad = abs_gradient(q, in[0], state[2]);
            const double mean = centered ? k * in[1] + (1 - k) * grad : 0;
            const double abs_mean = centered ? abs_average(k, in[1], abs_grad) : 0;
            const double squares = k * state[0] + (1 - k) * grad * grad;
            const double abs_squares = abs_average(k, state[0], abs_grad * abs_grad);
            const double difference = squares - mean * mean;
            // As in the algorithm, only a difference is held at 0: a negative s alone gives NaN.
            const double variance = centered && difference < 0 ? 0 : difference;
            const double step = q.real("lr") / std::sqrt(variance + eps0);
            const double moment = q.real("momentum") * state[1] + step * grad;
            const double abs_moment =
                std::fabs(q.real("momentum") * state[1]) +
                step * abs_grad * (1 + (abs_squares + abs_mean * abs_mean) / (variance + eps0));
            const double value[] = {in[0] - moment, mean, squares, moment};
            const double abs_sum[] = {std::fabs(in[0]) + abs_moment, abs_mean, abs_squares,
                                      abs_moment};
            for (size_t t = 0; t < sig.outputs.size(); t++) {
                const size_t from = t == 0 || centered ? t : t + 1;
                o[t] = value[from];
                q.abs_sum[sig.outputs[t].name].v[i] = abs_sum[from];
            }
            i++;
        });
    }
};

// The caller includes the correction of m's bias in lr: lr / (1 - beta1^t) at step t.
struct AdaMax : Adaptive {
    Func m = input("m"), v = input("v"), g = input("g");
    Func p_out = output("p_out"), m_out = output("m_out"), v_out = output("v_out");
    Expr beta1 = scalar("beta1", 0.9), beta2 = scalar("beta2", 0.999), eps = scalar("eps", 1e-8);
    AdaMax()
        : Adaptive("ada_max_", "m[*] v[*]", "m_out[*] v_out[*]",
                   "m = beta1 m + (1 - beta1) g; v = max(beta2 v, |g|); p = p - lr m / (v + eps)",
                   0.001) {
        alias = "ApplyAdaMax";
        let("v_least", "0");
        finish();
    }
    void algorithm() override {
        const Expr grad = gradient(g);
        m_out(Halide::_) = beta1 * m(Halide::_) + (1_r - beta1) * grad;
        const Expr decayed = beta2 * v(Halide::_);
        const Expr magnitude = abs(grad);
        v_out(Halide::_) = select(decayed > magnitude || math::is_nan(v(Halide::_)), decayed,
                                  magnitude);
        p_out(Halide::_) = p(Halide::_) - lr * m_out(Halide::_) / (v_out(Halide::_) + eps);
    }
    void reference(Problem &q) const override {
        each_abs_sum(q, [&](const double *in, double *o) {
            const double grad = gradient(q, in[0], in[3]);
            const double abs_grad = abs_gradient(q, in[0], in[3]);
            const double decayed = q.real("beta2") * in[2];
            const double divisor = std::fmax(decayed, std::fabs(grad)) + q.real("eps");
            o[1] = abs_average(q.real("beta1"), in[1], abs_grad);
            o[2] = std::fmax(decayed, abs_grad);
            o[0] = std::fabs(in[0]) + q.real("lr") * o[1] / divisor * (1 + abs_grad / divisor);
        });
        each(q, [&](const double *in, double *o) {
            const double b1 = q.real("beta1");
            const double grad = gradient(q, in[0], in[3]);
            const double decayed = q.real("beta2") * in[2];
            o[1] = b1 * in[1] + (1 - b1) * grad;
            o[2] = std::isnan(decayed) || std::isnan(grad) ? NAN
                                                           : std::fmax(decayed, std::fabs(grad));
            o[0] = in[0] - q.real("lr") * o[1] / (o[2] + q.real("eps"));
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Adagrad>();
    ops.add<RmsProp>(false);
    ops.add<RmsProp>(true);
    ops.add<AdaMax>();
}

}  // namespace halyard
