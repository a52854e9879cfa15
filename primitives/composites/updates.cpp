#include "primitives/composites/updates.h"

#include <algorithm>
#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"

namespace halyard {
namespace {

Tensor number(double v, const Tensor &like) {
    return Tensor::scalar(v, like.dtype());
}
Tensor norm(const Tensor &x) {
    return run1("reduce_l2", {x}, {{"axis", Ints()}});
}
// a / b where both are above 0, else 1
Tensor ratio_or_one(const Tensor &a, const Tensor &b, const Tensor &quotient) {
    const Tensor both = run1(
        "logical_and", {run1("greater", {a, number(0, a)}), run1("greater", {b, number(0, b)})});
    return run1("select", {both, quotient, number(1, a)});
}
// `out` = op(in), element on element.
void into(const Tensor &out, const char *op, std::initializer_list<Tensor> in,
          const std::vector<std::pair<std::string, AttrValue>> &attrs) {
    const Primitive p(op, attrs);
    dispatch_into(p.op(), std::span(in.begin(), in.size()), p.attrs(), {&out, 1});
}
bool is_updated(const RegisteredOp &op, const std::string &input) {
    return std::ranges::any_of(op.signature.outputs,
                               [&](const TensorSpec &o) { return o.name == input + "_out"; });
}

// The inputs, of one float dtype, broadcast against each other. Those that are updated have that
// shape, are dense, and apart from all others.
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
        all.push_back(in[k].shape() == whole ? in[k]
                                             : run1("broadcast_to", {in[k]},
                                                    {{"shape", Ints(whole.begin(), whole.end())}}));
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

Result lamb(Tensors given, const Attrs &a) {
    const StopTape stop;
    const std::vector<Tensor> in = checked(find_op("lamb_"), given);
    const int64_t step = integer(a, "step");
    if (step < 1)
        throw AttrError("lamb_", "step is " + std::to_string(step) + ", expected 1 or more");
    const double beta1 = real(a, "beta1");
    const double beta2 = real(a, "beta2");
    const Tensor &p = in[0];
    const Tensor &m = in[1];
    const Tensor &v = in[2];
    const Tensor r = Tensor::empty(p.shape(), p.dtype());
    const Primitive direction("lamb_direction",
                              {{"beta1", beta1},
                               {"beta2", beta2},
                               {"eps", real(a, "eps")},
                               {"weight_decay", real(a, "weight_decay")},
                               {"scale", real(a, "scale")},
                               {"correction1", 1 - std::pow(beta1, double(step))},
                               {"correction2", 1 - std::pow(beta2, double(step))}});
    const Tensor out[] = {r, m, v};
    dispatch_into(direction.op(), in, direction.attrs(), out);
    const Tensor of_p = norm(p);
    const Tensor of_r = norm(r);
    into(p, "addcmul", {p, r, ratio_or_one(of_p, of_r, run1("div", {of_p, of_r}))},
         {{"value", -real(a, "lr")}});
    return {p, m, v};
}

Result lion(Tensors given, const Attrs &a) {
    const StopTape stop;
    const std::vector<Tensor> in = checked(find_op("lion_"), given);
    const Tensor &p = in[0];
    const Tensor &m = in[1];
    const Tensor &g = in[2];
    into(p, "lion_step", {p, m, g},
         {{"lr", real(a, "lr")},
          {"beta1", real(a, "beta1")},
          {"weight_decay", real(a, "weight_decay")},
          {"scale", real(a, "scale")}});
    into(m, "mul", {m, number(real(a, "beta2"), m)}, {});
    into(m, "addcmul", {m, g, number(1 - real(a, "beta2"), m)}, {{"value", real(a, "scale")}});
    return {p, m};
}

Result lars_update(Tensors given, const Attrs &a) {
    const std::vector<Tensor> in = checked(find_op("lars_update"), given);
    const Tensor &p = in[0];
    const Tensor &g = in[1];
    const Tensor of_p = norm(p);
    const Tensor of_g = norm(g);
    const double decay = real(a, "weight_decay");
    const Tensor below = run1(
        "add", {run1("addcmul", {of_g, of_p, number(decay, p)}), number(real(a, "eps"), p)});
    Tensor trust = ratio_or_one(
        of_p, of_g, run1("div", {run1("mul", {of_p, number(real(a, "coefficient"), p)}), below}));
    if (integer(a, "use_clip"))
        trust = run1("minimum", {run1("div", {trust, number(real(a, "lr"), p)}), number(1, p)});
    return {run1("mul", {run1("addcmul", {g, p, number(decay, p)}), trust})};
}

// Norms of 16-bit floats are taken in f32.
Tensor widened(const Tensor &x) {
    return cast_to(x, bytes_of(x.dtype()) == 2 ? DType::f32 : x.dtype());
}

Result clip_by_norm(Tensors in, const Attrs &a) {
    const double most = real(a, "max_norm");
    const double ord = real(a, "norm_type");
    if (!(most > 0)) {
        throw AttrError("clip_by_norm",
                        "max_norm is " + std::to_string(most) + ", expected more than 0");
    }
    if (!is_float(in[0].dtype())) {
        throw DTypeError("clip_by_norm",
                         std::string("x is ") + name_of(in[0].dtype()) + ", expected a float");
    }
    const Tensor x = widened(in[0]);
    const Tensor size = run1("add", {run1("norm", {x}, {{"ord", ord}}), number(1e-6, x)});
    return {cast_to(
        run1("mul", {x, run1("minimum", {run1("div", {number(most, x), size}), number(1, x)})}),
        in[0].dtype())};
}

}  // namespace

std::vector<Tensor> F::clip_by_global_norm(const std::vector<Tensor> &x, double clip_norm) {
    const char *op = "clip_by_global_norm";
    if (!(clip_norm > 0))
        throw AttrError(op, "clip_norm is " + std::to_string(clip_norm) + ", expected more than 0");
    if (x.empty()) throw ShapeError(op, "takes at least one tensor, got none");
    require_defined(op, x);
    Tensor squares;
    DType widest = DType::f32;
    for (size_t k = 0; k < x.size(); k++) {
        if (!is_float(x[k].dtype())) {
            throw DTypeError(op, "x" + std::to_string(k) + " is " + name_of(x[k].dtype()) +
                                     ", expected a float");
        }
        widest = promote(widest, x[k].dtype());
    }
    for (const Tensor &t : x) {
        const Tensor sum = cast_to(run1("square", {norm(widened(t))}), widest);
        squares = squares.defined() ? run1("add", {squares, sum}) : sum;
    }
    const Tensor limit = number(clip_norm, squares);
    const Tensor by = run1("div", {limit, run1("maximum", {run1("sqrt", {squares}), limit})});
    std::vector<Tensor> y;
    for (const Tensor &t : x) {
        const Tensor wide = widened(t);
        y.push_back(cast_to(run1("mul", {wide, cast_to(by, wide.dtype())}), t.dtype()));
    }
    return y;
}

Family update_family() {
    static const Family::value_type all[] = {{"lamb_", lamb},
                                             {"lion_", lion},
                                             {"lars_update", lars_update},
                                             {"clip_by_norm", clip_by_norm}};
    return all;
}

}  // namespace halyard
