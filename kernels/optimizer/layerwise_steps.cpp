// Kernels of parameter updates that need several, which are composed in
// primitives/composites/optimizer/optimizer_layerwise.cpp.
#include "kernels/optimizer/update.h"

namespace halyard {
namespace {

constexpr const char *lamb_means =
    "m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; r = m / (1 - beta1^step) / "
    "(sqrt(v / (1 - beta2^step)) + eps) + weight_decay p";

// An element of LAMB's moving averages and of its step before scaling, for references.
struct LambValues {
    double m, v, r;
    LambValues(double p, double m0, double v0, double g, const Problem &q, double correction1,
               double correction2)
        : m(q.real("beta1") * m0 + (1 - q.real("beta1")) * g),
          v(q.real("beta2") * v0 + (1 - q.real("beta2")) * g * g),
          r(m / correction1 / (std::sqrt(v / correction2) + q.real("eps")) +
            q.real("weight_decay") * p) {}
};

struct LambDirection : Update {
    Func p = input("p"), m = input("m"), v = input("v"), g = input("g");
    Func r = output("r"), m_out = output("m_out"), v_out = output("v_out");
    Expr beta1 = scalar("beta1", 0.9), beta2 = scalar("beta2", 0.999), eps = scalar("eps", 1e-6),
         decay = scalar("weight_decay", 0.0), scale = scalar("scale", 1.0),
         correction1 = scalar("correction1", 1.0), correction2 = scalar("correction2", 1.0);
    LambDirection() : Update("lamb_direction", "p[*] m[*] v[*] g[*]", "r[*] m_out[*] v_out[*]") {
        internal = true;
        doc = std::string(lamb_means) + "; g = scale g, the corrections are 1 - beta^step";
        let("v_least", "0");
        samples.push_back(
            "d0=2 d1=3 d2=17 weight_decay=0.05 scale=0.5 correction1=0.1 correction2=0.001");
    }
    void algorithm() override {
        const Expr grad = g(Halide::_) * scale;
        m_out(Halide::_) = beta1 * m(Halide::_) + (1_r - beta1) * grad;
        v_out(Halide::_) = beta2 * v(Halide::_) + (1_r - beta2) * grad * grad;
        r(Halide::_) = m_out(Halide::_) / correction1 /
                           (sqrt(v_out(Halide::_) / correction2) + eps) +
                       decay * p(Halide::_);
    }
    void reference(Problem &q) const override {
        // Errors of g change sqrt v less than by their size, so that they count twice.
        each_abs_sum(q, [&](const double *in, double *o) {
            const double grad = std::fabs(in[3] * q.real("scale"));
            const LambValues l(std::fabs(in[0]), std::fabs(in[1]), in[2], grad, q,
                               q.real("correction1"), q.real("correction2"));
            const double decayed = std::fabs(q.real("weight_decay") * in[0]);
            o[0] = 2 * (l.r - decayed) + decayed;
            o[1] = l.m;
            o[2] = l.v;
        });
        each(q, [&](const double *in, double *o) {
            const LambValues l(in[0], in[1], in[2], in[3] * q.real("scale"), q,
                               q.real("correction1"), q.real("correction2"));
            o[0] = l.r;
            o[1] = l.m;
            o[2] = l.v;
        });
    }
};

// The step of Lion: the sign of a moving average of the gradient. It reads the old m.
struct LionStep : Update {
    Func p = input("p"), m = input("m"), g = input("g");
    Func p_out = output("p_out");
    Expr lr = scalar("lr", 1e-4), beta1 = scalar("beta1", 0.9), decay = scalar("weight_decay", 0.0),
         scale = scalar("scale", 1.0);
    LionStep() : Update("lion_step", "p[*] m[*] g[*]", "p_out[*]") {
        internal = true;
        doc = "p = p - lr (sign(beta1 m + (1 - beta1) g) + weight_decay p); g = scale g";
        samples.push_back("d0=2 d1=3 d2=17 weight_decay=0.05 scale=0.5");
    }
    void algorithm() override {
        const Expr mean = beta1 * m(Halide::_) + (1_r - beta1) * scale * g(Halide::_);
        const Expr p0 = p(Halide::_);
        const Expr sign = select(mean > 0_r, 1_r, mean < 0_r, -1_r, mean);
        p_out(Halide::_) = p0 - lr * (sign + decay * p0);
    }
    void reference(Problem &q) const override {
        each_abs_sum(q, [&](const double *in, double *o) {
            const double p0 = std::fabs(in[0]);
            o[0] = p0 + q.real("lr") * (1 + q.real("weight_decay") * p0);
        });
        each(q, [&](const double *in, double *o) {
            const double mean = q.real("beta1") * in[1] +
                                (1 - q.real("beta1")) * q.real("scale") * in[2];
            o[0] = in[0] - q.real("lr") * ((mean > 0   ? 1
                                            : mean < 0 ? -1
                                                       : mean) +
                                           q.real("weight_decay") * in[0]);
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<LambDirection>();
    ops.add<LionStep>();
}

}  // namespace halyard
