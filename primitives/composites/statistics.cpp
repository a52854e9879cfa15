// Compositions of reductions (records: kernels/reduction/statistics.cpp).
#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"

namespace halyard {
namespace {

// One call: x in the arithmetic of the op, and the axes that every reduction in it goes over.
struct Call {
    Call(Tensors in, const Attrs &a)
        : given(in[0].dtype()), axis(ints(a, "axis")), keep(is_set(a, "keep_dims")),
          x(cast_to(in[0], bytes_of(given) == 2 ? DType::f32 : given)) {
        unsigned reduced = 0;
        for (int64_t d : axis) {
            const unsigned bit = 1u << normal_axis(a.op().name.c_str(), d, x.rank());
            if (reduced & bit)
                throw AttrError(a.op().name, "axis " + std::to_string(d) + " is given twice");
            reduced |= bit;
        }
        for (int d = 0; d < x.rank(); d++)
            nothing |= x.shape()[d] == 0 && (axis.empty() || (reduced >> d & 1));
    }
    Tensor reduce(const char *op, const Tensor &t, bool keep_dims) const {
        return run1(op, {t}, {{"axis", axis}, {"keep_dims", keep_dims}});
    }
    Tensor reduce(const char *op, const Tensor &t) const { return reduce(op, t, keep); }
    Tensor number(double v) const { return Tensor::scalar(v, x.dtype()); }
    Result result(const Tensor &y) const { return {cast_to(y, given)}; }

    const DType given;
    const Ints axis;
    const bool keep;
    const Tensor x;
    bool nothing = false;  // is what each result is made of
};

// The largest element is taken out first, where it is finite: it keeps exp in range, and has no
// gradient of its own.
Result logsumexp(Tensors in, const Attrs &a) {
    const Call c(in, a);
    if (c.nothing) return c.result(run1("log", {c.reduce("reduce_sum", c.x)}));
    const auto shift = [&](bool keep_dims) {
        const Tensor most = stop_gradient(c.reduce("reduce_max", c.x, keep_dims));
        return run1("select", {run1("is_finite", {most}), most, c.number(0)});
    };
    const Tensor sum = c.reduce("reduce_sum", run1("exp", {run1("sub", {c.x, shift(true)})}));
    return c.result(run1("add", {run1("log", {sum}), shift(c.keep)}));
}

Tensor variance(const Call &c, const Attrs &a) {
    const Tensor off = run1("sub", {c.x, c.reduce("reduce_mean", c.x, true)});
    const Tensor sum = c.reduce("reduce_sum", run1("square", {off}));
    const double n = double(c.x.elements()) / double(std::max<int64_t>(1, sum.elements()));
    const double ddof = double(integer(a, "ddof"));
    return run1("div", {sum, c.number(std::fmax(0, n - ddof))});
}
Result var(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.result(variance(c, a));
}
// Of a constant it is 0 and has the slope 0, though the root's is infinite there: of all numbers
// near, 0 is the smallest.
Result standard_deviation(Tensors in, const Attrs &a) {
    const Call c(in, a);
    const Tensor v = variance(c, a);
    const Tensor constant = run1("equal", {v, c.number(0)});
    return c.result(run1("select", {constant, c.number(0),
                                    run1("sqrt", {run1("select", {constant, c.number(1), v})})}));
}

Result norm(Tensors in, const Attrs &a) {
    const Call c(in, a);
    const double ord = real(a, "ord");
    if (std::isnan(ord)) throw AttrError("norm", "ord is nan, expected a number");
    if (ord == 1) return c.result(c.reduce("reduce_l1", c.x));
    if (ord == 2) return c.result(c.reduce("reduce_l2", c.x));
    if (ord == 0) {
        return c.result(
            c.reduce("reduce_sum", cast_to(run1("not_equal", {c.x, c.number(0)}), c.x.dtype())));
    }
    const Tensor size = run1("abs", {c.x});
    if (std::isinf(ord) && c.nothing) {
        throw ShapeError("norm", "x" + in[0].shape().text() +
                                     " has no elements along axis, expected some for ord " +
                                     (ord > 0 ? "inf" : "-inf"));
    }
    if (std::isinf(ord)) return c.result(c.reduce(ord > 0 ? "reduce_max" : "reduce_min", size));
    return c.result(run1(
        "pow", {c.reduce("reduce_sum", run1("pow", {size, c.number(ord)})), c.number(1 / ord)}));
}

}  // namespace

Family statistics_family() {
    static const Family::value_type all[] = {
        {"logsumexp", logsumexp}, {"var", var}, {"std", standard_deviation}, {"norm", norm}};
    return all;
}

}  // namespace halyard
