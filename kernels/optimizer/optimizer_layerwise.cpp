// Parameter updates that need more than one kernel, composed in primitives/composites/updates.cpp.
// The steps of LAMB and LARS depend on norms of a whole parameter; Lion's step reads the state
// before the state changes.
#include "kernels/layout/composite.h"
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
        each(q, [&](const double *in, double *o) {
            const LambValues l(in[0], in[1], in[2], in[3] * q.real("scale"), q,
                               q.real("correction1"), q.real("correction2"));
            o[0] = l.r;
            o[1] = l.m;
            o[2] = l.v;
        });
    }
};

struct CompositeUpdate : Composite {
    CompositeUpdate(const std::string &n, const std::string &sig_text, const std::string &formula)
        : Composite(n, sig_text, formula) {
        dtypes = {"f32", "f64"};
        contract = {Contract::normwise, 16};
    }
    void real_attr(const std::string &n, const std::string &value) {
        attrs.push_back({n, AttrKind::real, value, {}, {}});
    }
    static double norm(const std::vector<double> &v) {
        double sum = 0;
        for (double e : v)
            sum += e * e;
        return std::sqrt(sum);
    }
};

struct Lamb : CompositeUpdate {
    Lamb()
        : CompositeUpdate(
              "lamb_", "p[*] m[*] v[*] g[*] -> p_out[*] m_out[*] v_out[*]",
              std::string(lamb_means) +
                  "; p = p - lr |p| / |r| r, with 1 for |p| / |r| where either is 0; g = scale g") {
        alias = "Lamb";
        real_attr("lr", "0.001");
        real_attr("beta1", "0.9");
        real_attr("beta2", "0.999");
        real_attr("eps", "1e-6");
        real_attr("weight_decay", "0");
        real_attr("scale", "1");
        attr("step", 1);
        let("v_least", "0");
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 lr=0.1 step=3",
                   "d0=1 d1=7 d2=31 lr=0.1 weight_decay=0.05 scale=0.5 step=2"};
    }
    void reference(Problem &q) const override {
        const auto step = double(q["step"]);
        Array p = q("p"), m = q("m"), v = q("v");
        Array r = p;
        for (size_t i = 0; i < p.v.size(); i++) {
            const LambValues l(p.v[i], m.v[i], v.v[i], q("g").v[i] * q.real("scale"), q,
                               1 - std::pow(q.real("beta1"), step),
                               1 - std::pow(q.real("beta2"), step));
            m.v[i] = l.m;
            v.v[i] = l.v;
            r.v[i] = l.r;
        }
        const double of_p = norm(p.v);
        const double of_r = norm(r.v);
        const double ratio = of_p > 0 && of_r > 0 ? of_p / of_r : 1;
        for (size_t i = 0; i < p.v.size(); i++)
            p.v[i] -= q.real("lr") * ratio * r.v[i];
        q.tensors["p_out"] = p;
        q.tensors["m_out"] = m;
        q.tensors["v_out"] = v;
    }
};

struct LarsUpdate : CompositeUpdate {
    LarsUpdate()
        : CompositeUpdate(
              "lars_update", "p[*] g[*] -> y[*]",
              "y = t (g + weight_decay p), the gradient for another update; t = coefficient |p| / "
              "(|g| + weight_decay |p| + eps), 1 where |p| or |g| is 0; "
              "use_clip: t = min(t / lr, 1)") {
        alias = "LARSUpdate";
        real_attr("coefficient", "0.001");
        real_attr("weight_decay", "0");
        real_attr("eps", "1e-5");
        real_attr("lr", "1");
        flag("use_clip", false);
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 weight_decay=0.05",
                   "d0=1 d1=7 d2=31 weight_decay=0.05 use_clip=1 lr=0.01 coefficient=0.1"};
    }
    void reference(Problem &q) const override {
        const double of_p = norm(q("p").v);
        const double of_g = norm(q("g").v);
        const double decay = q.real("weight_decay");
        double t = of_p > 0 && of_g > 0
                       ? q.real("coefficient") * of_p / (of_g + decay * of_p + q.real("eps"))
                       : 1;
        if (q["use_clip"]) t = std::fmin(t / q.real("lr"), 1);
        Array y = q("g");
        for (size_t i = 0; i < y.v.size(); i++)
            y.v[i] = t * (y.v[i] + decay * q("p").v[i]);
        q.tensors["y"] = y;
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

struct Lion : CompositeUpdate {
    Lion()
        : CompositeUpdate("lion_", "p[*] m[*] g[*] -> p_out[*] m_out[*]",
                          "p = p - lr (sign(beta1 m + (1 - beta1) g) + weight_decay p); m = beta2 "
                          "m + (1 - beta2) g; g = scale g") {
        real_attr("lr", "1e-4");
        real_attr("beta1", "0.9");
        real_attr("beta2", "0.99");
        real_attr("weight_decay", "0");
        real_attr("scale", "1");
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 lr=0.1",
                   "d0=1 d1=7 d2=31 lr=0.1 weight_decay=0.05 scale=0.5"};
    }
    void reference(Problem &q) const override {
        Array p = q("p"), m = q("m");
        const double b1 = q.real("beta1"), b2 = q.real("beta2");
        for (size_t i = 0; i < p.v.size(); i++) {
            const double g = q("g").v[i] * q.real("scale");
            const double mean = b1 * m.v[i] + (1 - b1) * g;
            p.v[i] -= q.real("lr") * ((mean > 0) - (mean < 0) + q.real("weight_decay") * p.v[i]);
            m.v[i] = b2 * m.v[i] + (1 - b2) * g;
        }
        q.tensors["p_out"] = p;
        q.tensors["m_out"] = m;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<LambDirection>();
    ops.add<Lamb>();
    ops.add<LarsUpdate>();
    ops.add<LionStep>();
    ops.add<Lion>();
}

}  // namespace halyard
