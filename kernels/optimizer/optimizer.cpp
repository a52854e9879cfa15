// Parameter updates: momentum, SGD, and Adam with and without decoupled weight decay. update.h
// describes how they work in place.
#include "kernels/optimizer/update.h"

namespace halyard {
namespace {

// v = momentum v + g; p = p - lr v, with nesterov p - lr (g + momentum v).
struct Momentum : Update {
    Func p = input("p"), v = input("v"), g = input("g");
    Func p_out = output("p_out"), v_out = output("v_out");
    Expr lr = scalar("lr", 0.1), momentum = scalar("momentum", 0.9),
         decay = scalar("weight_decay", 0.0), nesterov = scalar("nesterov", 0),
         scale = scalar("scale", 1.0);
    Momentum() : Update("momentum_", "p[*] v[*] g[*]", "p_out[*] v_out[*]") {
        doc = "v = momentum v + g; p = p - lr v, with nesterov p - lr (g + momentum v); g = scale "
              "g + weight_decay p";
        alias = "ApplyMomentum";
        samples.push_back("d0=2 d1=3 d2=17 weight_decay=0.05 scale=0.5");
        samples.push_back("d0=2 d1=3 d2=17 weight_decay=0.05 nesterov=1");
    }
    void algorithm() override {
        const Expr p0 = p(Halide::_);
        const Expr grad = g(Halide::_) * scale + decay * p0;
        v_out(Halide::_) = momentum * v(Halide::_) + grad;
        const Expr next = v_out(Halide::_);
        p_out(Halide::_) = p0 - lr * select(nesterov != 0, grad + momentum * next, next);
    }
    void reference(Problem &q) const override {
        each_abs_sum(q, [&](const double *in, double *o) {
            const double mu = q.real("momentum");
            const double grad = abs_gradient(q, in[0], in[2]);
            o[1] = std::fabs(mu * in[1]) + grad;
            o[0] = std::fabs(in[0]) + q.real("lr") * (q["nesterov"] ? grad + mu * o[1] : o[1]);
        });
        each(q, [&](const double *in, double *o) {
            const double mu = q.real("momentum");
            const double grad = in[2] * q.real("scale") + q.real("weight_decay") * in[0];
            o[1] = mu * in[1] + grad;
            o[0] = in[0] - q.real("lr") * (q["nesterov"] ? grad + mu * o[1] : o[1]);
        });
    }
};

// Without momentum p = p - lr g. With it v = momentum v + (1 - dampening) g and p as above. At the
// first step v should be g, so the caller passes v = 0 and dampening = 0.
struct Sgd : Update {
    Func p = input("p"), v = input("v"), g = input("g");
    Func p_out = output("p_out"), v_out = output("v_out");
    Expr lr = scalar("lr", 0.1), momentum = scalar("momentum", 0.0),
         dampening = scalar("dampening", 0.0), decay = scalar("weight_decay", 0.0),
         nesterov = scalar("nesterov", 0), scale = scalar("scale", 1.0);
    Sgd() : Update("sgd_", "p[*] v[*] g[*]", "p_out[*] v_out[*]") {
        doc = "v = momentum v + (1 - dampening) g; p = p - lr v, with nesterov p - lr (g + "
              "momentum v), without momentum p - lr g; g = scale g + weight_decay p";
        alias = "SGD";
        samples.push_back("d0=2 d1=3 d2=17 momentum=0.9 dampening=0.5 weight_decay=0.05 scale=0.5");
        samples.push_back("d0=2 d1=3 d2=17 momentum=0.9 nesterov=1");
    }
    void algorithm() override {
        const Expr p0 = p(Halide::_);
        const Expr grad = g(Halide::_) * scale + decay * p0;
        v_out(Halide::_) = momentum * v(Halide::_) + (1_r - dampening) * grad;
        const Expr next = v_out(Halide::_);
        p_out(Halide::_) = p0 - lr * select(momentum == 0_r, grad, nesterov != 0,
                                            grad + momentum * next, next);
    }
    void reference(Problem &q) const override {
        each_abs_sum(q, [&](const double *in, double *o) {
            const double mu = q.real("momentum");
            const double grad = abs_gradient(q, in[0], in[2]);
            o[1] = std::fabs(mu * in[1]) + (1 - q.real("dampening")) * grad;
            o[0] = std::fabs(in[0]) + q.real("lr") * (mu == 0         ? grad
                                                      : q["nesterov"] ? grad + mu * o[1]
                                                                      : o[1]);
        });
        each(q, [&](const double *in, double *o) {
            const double mu = q.real("momentum");
            const double grad = in[2] * q.real("scale") + q.real("weight_decay") * in[0];
            o[1] = mu * in[1] + (1 - q.real("dampening")) * grad;
            o[0] = in[0] - q.real("lr") * (mu == 0         ? grad
                                           : q["nesterov"] ? grad + mu * o[1]
                                                           : o[1]);
        });
    }
};

// m and v are moving averages of g and g^2; p = p - lr m / (sqrt v + eps). The caller includes the
// correction of their bias in lr: lr sqrt(1 - beta2^t) / (1 - beta1^t) at step t.
struct Adam : Update {
    Func p = input("p"), m = input("m"), v = input("v"), g = input("g");
    Func p_out = output("p_out"), m_out = output("m_out"), v_out = output("v_out");
    Expr lr = scalar("lr", 0.001), beta1 = scalar("beta1", 0.9), beta2 = scalar("beta2", 0.999),
         eps = scalar("eps", 1e-8), decay = scalar("weight_decay", 0.0),
         scale = scalar("scale", 1.0);
    const bool decoupled;  // the decay is subtracted from p and doesn't enter m and v
    explicit Adam(bool is_decoupled)
        : Update(is_decoupled ? "adam_weight_decay_" : "adam_", "p[*] m[*] v[*] g[*]",
                 "p_out[*] m_out[*] v_out[*]"),
          decoupled(is_decoupled) {
        // Samples have v >= 0, as averages of squares are. A negative v would cancel with g^2, and
        // m / (sqrt v + eps) would magnify the rounding error.
        let("v_least", "0");
        doc = std::string(
                  "m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p = p - lr ") +
              (is_decoupled ? "(m / (sqrt v + eps) + weight_decay p); g = scale g"
                            : "m / (sqrt v + eps); g = scale g + weight_decay p");
        alias = is_decoupled ? "AdamWeightDecay" : "Adam";
        samples.push_back("d0=2 d1=3 d2=17 weight_decay=0.05 scale=0.5 beta1=0.5");
    }
    void algorithm() override {
        const Expr p0 = p(Halide::_);
        const Expr raw = g(Halide::_) * scale;
        const Expr grad = decoupled ? raw : raw + decay * p0;
        m_out(Halide::_) = beta1 * m(Halide::_) + (1_r - beta1) * grad;
        v_out(Halide::_) = beta2 * v(Halide::_) + (1_r - beta2) * grad * grad;
        const Expr step = m_out(Halide::_) / (sqrt(v_out(Halide::_)) + eps);
        p_out(Halide::_) = p0 - lr * (decoupled ? step + decay * p0 : step);
    }
    void reference(Problem &q) const override {
        abs_reference(q);
        each(q, [&](const double *in, double *o) {
            const double b1 = q.real("beta1"), b2 = q.real("beta2");
            const double grad = in[3] * q.real("scale") +
                                (decoupled ? 0 : q.real("weight_decay") * in[0]);
            o[1] = b1 * in[1] + (1 - b1) * grad;
            o[2] = b2 * in[2] + (1 - b2) * grad * grad;
            o[0] = in[0] - q.real("lr") * (o[1] / (std::sqrt(o[2]) + q.real("eps")) +
                                           (decoupled ? q.real("weight_decay") * in[0] : 0));
        });
    }
    // sqrt v is the norm of sqrt(beta2 v) and sqrt(1 - beta2) g. So an error d of g changes it by
    // at most sqrt(1 - beta2) d.
    void abs_reference(Problem &q) const {
        each_abs_sum(q, [&](const double *in, double *o) {
            const double b1 = q.real("beta1"), b2 = q.real("beta2");
            const double decayed = q.real("weight_decay") * in[0];
            const double raw = in[3] * q.real("scale");
            const double grad = raw + (decoupled ? 0 : decayed);
            const double abs_grad = std::fabs(raw) + (decoupled ? 0 : std::fabs(decayed));
            const double mean = b1 * in[1] + (1 - b1) * grad;
            const double divisor = std::sqrt(b2 * in[2] + (1 - b2) * grad * grad) + q.real("eps");
            o[1] = abs_average(b1, in[1], abs_grad);
            o[2] = abs_average(b2, in[2], abs_grad * abs_grad);
            const double by_divisor = 1 + std::sqrt(1 - b2) * abs_grad / divisor;
            const double step = (o[1] + std::fabs(mean) * by_divisor) / divisor;
            o[0] = std::fabs(in[0]) + q.real("lr") * (step + (decoupled ? std::fabs(decayed) : 0));
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Momentum>();
    ops.add<Sgd>();
    ops.add<Adam>(false);
    ops.add<Adam>(true);
}

}  // namespace halyard
