// Reductions that are composed of other reductions. 16-bit floats are computed in f32.
#include "primitives/composites/reduction/statistics.h"

#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/select.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

// The input of a call, in the arithmetic of the op, and the axes of its reductions.
struct Inputs {
    Inputs(const Call &call)
        : given(call[0].dtype()), axis(call.ints("axis")), keep(call.is_set("keep_dims")),
          x(cast_to(call[0], bytes_of(given) == 2 ? DType::f32 : given)) {
        unsigned reduced = 0;
        for (int64_t d : axis) {
            const unsigned bit = 1u << normal_axis(call.op().c_str(), d, x.rank());
            if (reduced & bit)
                throw AttrError(call.op(), "axis " + std::to_string(d) + " is given twice");
            reduced |= bit;
        }
        for (int d = 0; d < x.rank(); d++)
            nothing |= x.shape()[d] == 0 && (axis.empty() || (reduced >> d & 1));
    }
    using Reduction = Tensor (*)(const Tensor &x, const Ints &axis, bool keep_dims);
    Tensor reduce(Reduction reduction, const Tensor &t) const { return reduction(t, axis, keep); }
    Tensor number(double v) const { return Tensor::scalar(v, x.dtype()); }
    Result result(const Tensor &y) const { return {cast_to(y, given)}; }

    const DType given;
    const Ints axis;
    const bool keep;
    const Tensor x;
    bool nothing = false;  // True if results are reductions of no elements.
};

Tensor variance(const Inputs &c, const Call &call) {
    const Tensor off = c.x - F::reduce_mean(c.x, c.axis, true);
    const Tensor sum = c.reduce(F::reduce_sum, F::square(off));
    const double n = double(c.x.elements()) / double(std::max<int64_t>(1, sum.elements()));
    const double ddof = double(call.integer("ddof"));
    return sum / std::fmax(0, n - ddof);
}

Result var(const Call &call) {
    const Inputs c(call);
    return c.result(variance(c, call));
}

// The standard deviation of a constant is 0 and its gradient is 0: the gradient of the root is
// infinite there, and 0 is the smallest of the subgradients.
Result standard_deviation(const Call &call) {
    const Inputs c(call);
    const Tensor v = variance(c, call);
    const Tensor constant = F::equal(v, 0);
    return c.result(F::select(constant, 0, F::sqrt(F::select(constant, 1, v))));
}

struct Statistic : Composite {
    Statistic(const std::string &n, const std::string &formula, double ulps)
        : Composite(n, "x[*] -> y[*]", formula) {
        at_call("axis", AttrKind::ints, "");
        at_call("keep_dims", AttrKind::boolean, "0");
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, ulps};
        samples = {"d0=1 d1=1 d2=2 axis=2", "d0=2 d1=3 d2=5", "d0=3 d1=4 d2=33 axis=0,2",
                   "d0=7 d1=2 d2=31 axis=-1 keep_dims=1"};
    }
    virtual double value(const Problem &p, const std::vector<double> &x) const = 0;

    void reference(Problem &p) const override {
        const Array x = p("x");
        const Shape axes = list(p, "axis");
        Shape kept = x.shape;
        Shape s;
        for (int d = 0; d < x.shape.rank(); d++) {
            bool reduced = axes.empty();
            for (int64_t a : axes)
                reduced |= wrapped(a, x.shape.rank()) == d;
            if (reduced) kept[d] = 1;
            if (!reduced || p["keep_dims"]) s.push_back(kept[d]);
        }
        std::vector<std::vector<double>> elements(static_cast<size_t>(kept.elements()));
        for (int64_t i = 0; i < int64_t(x.v.size()); i++) {
            int64_t rest = i;
            int64_t at = 0, stride = 1;
            for (int d = x.shape.rank(); d-- > 0;) {
                at += (kept[d] == 1 ? 0 : rest % x.shape[d]) * stride;
                rest /= x.shape[d];
                stride *= kept[d];
            }
            elements[size_t(at)].push_back(x.v[size_t(i)]);
        }
        Array y(s);
        for (size_t k = 0; k < y.v.size(); k++)
            y.v[k] = value(p, elements[k]);
        p.tensors["y"] = y;
    }
};

struct LogSumExp : Statistic {
    LogSumExp() : Statistic("logsumexp", "y = log sum exp(x), over axis", 8) {
        alias = "LogSumExp";
    }
    double value(const Problem &, const std::vector<double> &x) const override {
        double largest = -INFINITY;
        double sum = 0;
        for (double v : x)
            largest = std::fmax(largest, v);
        for (double v : x)
            sum += std::exp(v - largest);
        return largest + std::log(sum);
    }
    // The largest element is subtracted first if it is finite, which keeps exp in range. No
    // gradient passes through it.
    Result compose(const Call &call) const override {
        const Inputs c(call);
        if (c.nothing) return c.result(F::log(c.reduce(F::reduce_sum, c.x)));
        const auto shift = [&](bool keep_dims) {
            const Tensor largest = stop_gradient(F::reduce_max(c.x, c.axis, keep_dims));
            return F::select(F::is_finite(largest), largest, 0);
        };
        const Tensor sum = c.reduce(F::reduce_sum, F::exp(c.x - shift(true)));
        return c.result(F::log(sum) + shift(c.keep));
    }
};

struct Variance : Statistic {
    const bool root;
    explicit Variance(bool is_root)
        : Statistic(is_root ? "std" : "var",
                    is_root ? "y = sqrt(var(x))" : "y = sum (x - mean x)^2 / (n - ddof), over axis",
                    16),
          root(is_root) {
        at_call("ddof", AttrKind::integer, "0");
        samples.push_back("d0=3 d1=4 d2=5 axis=1 ddof=1");
    }
    Result compose(const Call &call) const override {
        return root ? standard_deviation(call) : var(call);
    }
    double value(const Problem &p, const std::vector<double> &x) const override {
        double mean = 0, sum = 0;
        for (double v : x)
            mean += v / double(x.size());
        for (double v : x)
            sum += (v - mean) * (v - mean);
        const double y = sum / (double(x.size()) - double(p["ddof"]));
        return root ? std::sqrt(y) : y;
    }
};

struct Norm : Statistic {
    Norm()
        : Statistic("norm",
                    "y = (sum |x|^ord)^(1/ord), over axis; ord inf: max |x|, -inf: min |x|, 0: how "
                    "many x aren't 0",
                    16) {
        at_call("ord", AttrKind::real, "2");
        for (const char *ord : {"1", "0", "inf", "-inf", "3"})
            samples.push_back(std::string("d0=3 d1=4 d2=5 axis=1 ord=") + ord);
    }
    double value(const Problem &p, const std::vector<double> &x) const override {
        const double ord = p.real("ord");
        double sum = 0, largest = 0;
        double smallest = INFINITY;
        for (double v : x) {
            sum += ord == 0 ? v != 0 : std::pow(std::fabs(v), ord);
            largest = std::fmax(largest, std::fabs(v));
            smallest = std::fmin(smallest, std::fabs(v));
        }
        return std::isinf(ord) ? (ord > 0 ? largest : smallest)
               : ord == 0      ? sum
                               : std::pow(sum, 1 / ord);
    }
    Result compose(const Call &call) const override {
        const Inputs c(call);
        const double ord = call.real("ord");
        if (std::isnan(ord)) throw AttrError("norm", "ord is nan, expected a number");
        if (ord == 1) return c.result(c.reduce(F::reduce_l1, c.x));
        if (ord == 2) return c.result(c.reduce(F::reduce_l2, c.x));
        if (ord == 0) {
            return c.result(c.reduce(F::reduce_sum, cast_to(F::not_equal(c.x, 0), c.x.dtype())));
        }
        const Tensor size = F::abs(c.x);
        if (std::isinf(ord) && c.nothing) {
            throw ShapeError("norm", "x" + call[0].shape().text() +
                                         " has no elements along axis, expected some for ord " +
                                         (ord > 0 ? "inf" : "-inf"));
        }
        if (std::isinf(ord))
            return c.result(c.reduce(ord > 0 ? F::reduce_max : F::reduce_min, size));
        return c.result(F::tensor_pow(c.reduce(F::reduce_sum, F::tensor_pow(size, ord)), 1 / ord));
    }
};

}  // namespace

Tensor composite::norm(const Tensor &x, double ord) {
    return run1("norm", {x}, {{"ord", ord}});
}

HALYARD_COMPOSITES {
    composites.add<LogSumExp>();
    composites.add<Variance>(false);
    composites.add<Variance>(true);
    composites.add<Norm>();
}

}  // namespace halyard
