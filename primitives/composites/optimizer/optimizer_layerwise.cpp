// Parameter updates that need more than one kernel: LAMB's and LARS's steps depend on norms over a
// whole parameter, and Lion's reads its state before the state changes.
#include <algorithm>
#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/layout/shapes.h"
#include "primitives/composites/optimizer/lamb.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/select.h"

namespace halyard {
namespace {

constexpr const char *lamb_means =
    "m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; r = m / (1 - beta1^step) / "
    "(sqrt(v / (1 - beta2^step)) + eps) + weight_decay p";

Tensor number(double v, const Tensor &like) {
    return Tensor::scalar(v, like.dtype());
}

Tensor norm(const Tensor &x) {
    return F::reduce_l2(x);
}

// Returns `quotient`, which is a / b, where a and b are above 0, else 1.
Tensor ratio_or_one(const Tensor &a, const Tensor &b, const Tensor &quotient) {
    const Tensor both = F::logical_and(F::greater(a, 0), F::greater(b, 0));
    return F::select(both, quotient, 1);
}

// Writes op(in) into `out`.
void into(const Tensor &out, const char *op, std::initializer_list<Tensor> in,
          const std::vector<std::pair<std::string, AttrValue>> &attrs) {
    const Primitive p(op, attrs);
    dispatch_into(p.op(), std::span(in.begin(), in.size()), p.attrs(), {&out, 1});
}

bool is_updated(const RegisteredOp &op, const std::string &input) {
    return std::ranges::any_of(op.signature.outputs,
                               [&](const TensorSpec &o) { return o.name == input + "_out"; });
}

// Returns the inputs, broadcast against each other. Throws unless they have one float dtype, and
// unless those that are updated have the broadcast shape, are dense and don't overlap others.
std::vector<Tensor> checked(const RegisteredOp &op, Tensors in) {
    const std::string &name = op.record.name;
    const auto &specs = op.signature.inputs;
    if (!is_float(in[0].dtype())) {
        throw DTypeError(name,
                         specs[0].name + " is " + name_of(in[0].dtype()) + ", expected a float");
    }
    Shape whole;
    for (size_t k = 0; k < in.size(); k++) {
        if (in[k].dtype() != in[0].dtype()) {
            throw DTypeError(name, specs[k].name + " is " + name_of(in[k].dtype()) + ", expected " +
                                       name_of(in[0].dtype()) + " like p");
        }
        whole = broadcast(name.c_str(), whole, in[k].shape());
    }
    std::vector<Tensor> all;
    for (size_t k = 0; k < in.size(); k++) {
        all.push_back(in[k].shape() == whole ? in[k] : composite::broadcast_to(in[k], whole));
        const std::string &own = specs[k].name;
        if (!is_updated(op, own)) continue;
        if (!(in[k].shape() == whole)) {
            throw ShapeError(name, own + " has shape " + in[k].shape().text() + ", expected " +
                                       whole.text() + ": it is written, so it isn't broadcast");
        }
        if (!in[k].dense()) throw ShapeError(name, own + " must be dense");
        for (size_t i = 0; i < in.size(); i++) {
            if (i != k && in[i].overlaps(in[k]))
                throw ShapeError(name, own + " overlaps " + specs[i].name);
        }
    }
    return all;
}

struct LambValues {
    double m, v, r;
    LambValues(double p, double m0, double v0, double g, const Problem &q, double correction1,
               double correction2)
        : m(q.real("beta1") * m0 + (1 - q.real("beta1")) * g),
          v(q.real("beta2") * v0 + (1 - q.real("beta2")) * g * g),
          r(m / correction1 / (std::sqrt(v / correction2) + q.real("eps")) +
            q.real("weight_decay") * p) {}
};

struct CompositeUpdate : Composite {
    CompositeUpdate(const std::string &n, const std::string &sig_text, const std::string &formula)
        : Composite(n, sig_text, formula) {
        dtypes = {"f32", "f64"};
        contract = {Contract::normwise, 16};
    }
    static double length(const std::vector<double> &v) {
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
        real("lr", "0.001");
        real("beta1", "0.9");
        real("beta2", "0.999");
        real("eps", "1e-6");
        real("weight_decay", "0");
        real("scale", "1");
        attr("step", 1);
        let("v_least", "0");
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 lr=0.1 step=3",
                   "d0=1 d1=7 d2=31 lr=0.1 weight_decay=0.05 scale=0.5 step=2"};
    }
    Result compose(const Call &call) const override {
        const int64_t step = call.integer("step");
        if (step < 1)
            throw AttrError("lamb_", "step is " + std::to_string(step) + ", expected 1 or more");
        const double beta1 = call.real("beta1");
        const double beta2 = call.real("beta2");
        update_lamb(call.in[0], call.in[1], call.in[2], call.in[3],
                    {.beta1 = beta1,
                     .beta2 = beta2,
                     .eps = call.real("eps"),
                     .weight_decay = call.real("weight_decay"),
                     .scale = call.real("scale"),
                     .minus_lr = -call.real("lr"),
                     .correction1 = 1 - std::pow(beta1, double(step)),
                     .correction2 = 1 - std::pow(beta2, double(step))});
        return {call.in[0], call.in[1], call.in[2]};
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
        const double of_p = length(p.v);
        const double of_r = length(r.v);
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
        real("coefficient", "0.001");
        real("weight_decay", "0");
        real("eps", "1e-5");
        real("lr", "1");
        flag("use_clip", false);
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 weight_decay=0.05",
                   "d0=1 d1=7 d2=31 weight_decay=0.05 use_clip=1 lr=0.01 coefficient=0.1"};
    }
    Result compose(const Call &call) const override {
        const std::vector<Tensor> x = checked(find_op("lars_update"), call.in);
        const Tensor &p = x[0];
        const Tensor &g = x[1];
        const Tensor of_p = norm(p);
        const Tensor of_g = norm(g);
        const double decay = call.real("weight_decay");
        const Tensor below = F::addcmul(of_g, of_p, number(decay, p)) + call.real("eps");
        Tensor trust = ratio_or_one(of_p, of_g, of_p * call.real("coefficient") / below);
        if (call.integer("use_clip")) trust = F::minimum(trust / call.real("lr"), 1);
        return {F::addcmul(g, p, number(decay, p)) * trust};
    }
    void reference(Problem &q) const override {
        const double of_p = length(q("p").v);
        const double of_g = length(q("g").v);
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

struct Lion : CompositeUpdate {
    Lion()
        : CompositeUpdate("lion_", "p[*] m[*] g[*] -> p_out[*] m_out[*]",
                          "p = p - lr (sign(beta1 m + (1 - beta1) g) + weight_decay p); m = beta2 "
                          "m + (1 - beta2) g; g = scale g") {
        real("lr", "1e-4");
        real("beta1", "0.9");
        real("beta2", "0.99");
        real("weight_decay", "0");
        real("scale", "1");
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 lr=0.1",
                   "d0=1 d1=7 d2=31 lr=0.1 weight_decay=0.05 scale=0.5"};
    }
    Result compose(const Call &call) const override {
        const StopTape stop;
        const std::vector<Tensor> x = checked(find_op("lion_"), call.in);
        const Tensor &p = x[0];
        const Tensor &m = x[1];
        const Tensor &g = x[2];
        into(p, "lion_step", {p, m, g},
             {{"lr", call.real("lr")},
              {"beta1", call.real("beta1")},
              {"weight_decay", call.real("weight_decay")},
              {"scale", call.real("scale")}});
        into(m, "mul", {m, number(call.real("beta2"), m)}, {});
        into(m, "addcmul", {m, g, number(1 - call.real("beta2"), m)},
             {{"value", call.real("scale")}});
        return {p, m};
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

void update_lamb(const Tensor &p, const Tensor &m, const Tensor &v, const Tensor &g,
                 const LambNumbers &n) {
    const StopTape stop;
    const Tensor in[] = {p, m, v, g};
    const std::vector<Tensor> x = checked(find_op("lamb_"), in);
    const Tensor r = Tensor::empty(p.shape(), p.dtype());
    const Primitive direction("lamb_direction", {{"beta1", n.beta1},
                                                 {"beta2", n.beta2},
                                                 {"eps", n.eps},
                                                 {"weight_decay", n.weight_decay},
                                                 {"scale", n.scale},
                                                 {"correction1", n.correction1},
                                                 {"correction2", n.correction2}});
    const Tensor out[] = {r, m, v};
    dispatch_into(direction.op(), x, direction.attrs(), out);
    const Tensor of_p = norm(p);
    const Tensor of_r = norm(r);
    into(p, "addcmul", {p, r, ratio_or_one(of_p, of_r, of_p / of_r)}, {{"value", n.minus_lr}});
}

HALYARD_COMPOSITES {
    composites.add<Lamb>();
    composites.add<LarsUpdate>();
    composites.add<Lion>();
}

}  // namespace halyard
