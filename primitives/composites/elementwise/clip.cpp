// clip_by_norm and clip_by_global_norm, which scale tensors so that a norm of theirs has an upper
// bound.
#include "primitives/composites/clip.h"

#include <algorithm>
#include <cmath>

#include "primitives/composites/composite.h"
#include "primitives/composites/reduction/statistics.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

Tensor number(double v, const Tensor &like) {
    return Tensor::scalar(v, like.dtype());
}

Tensor norm(const Tensor &x) {
    return F::reduce_l2(x);
}

// Returns x in the dtype that its norm is computed in: f32 for 16-bit floats.
Tensor widened(const Tensor &x) {
    return cast_to(x, bytes_of(x.dtype()) == 2 ? DType::f32 : x.dtype());
}

struct ClipByNorm : Composite {
    ClipByNorm()
        : Composite(
              "clip_by_norm", "x[*] -> y[*]",
              "y = x * min(max_norm / (norm(x) + 1e-6), 1), of all elements; norm_type is the "
              "norm's order, as ord of `norm`") {
        required_at_call("max_norm", AttrKind::real);
        at_call("norm_type", AttrKind::real, "2");
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, 16};
        samples = {"d0=1 d1=1 d2=1 max_norm=0.5",
                   "d0=2 d1=3 d2=5 max_norm=1",
                   "d0=2 d1=3 d2=5 max_norm=1 norm_type=1",
                   "d0=7 d1=1 d2=31 max_norm=2 norm_type=inf",
                   "d0=2 d1=3 d2=5 max_norm=1000",
                   "d0=2 d1=3 d2=5 max_norm=1 norm_type=0",
                   "d0=2 d1=3 d2=5 max_norm=0.125 norm_type=-inf"};
    }
    Result compose(const Call &call) const override {
        const double max_norm = call.real("max_norm");
        const double ord = call.real("norm_type");
        if (!(max_norm > 0)) {
            throw AttrError("clip_by_norm",
                            "max_norm is " + std::to_string(max_norm) + ", expected more than 0");
        }
        if (std::isnan(ord)) {
            throw AttrError("clip_by_norm", "norm_type is nan, expected a number");
        }
        if (!is_float(call[0].dtype())) {
            throw DTypeError("clip_by_norm", std::string("x is ") + name_of(call[0].dtype()) +
                                                 ", expected a float");
        }
        const Tensor x = widened(call[0]);
        const Tensor size = composite::norm(x, ord) + 1e-6;
        return {cast_to(x * F::minimum(max_norm / size, 1), call[0].dtype())};
    }
    static double reference_norm(const std::vector<double> &x, double ord) {
        double sum = 0, largest = 0, smallest = INFINITY, nonzeros = 0;
        for (double v : x) {
            sum += std::pow(std::fabs(v), ord);
            largest = std::fmax(largest, std::fabs(v));
            smallest = std::fmin(smallest, std::fabs(v));
            nonzeros += v != 0;
        }
        if (ord == 0) return nonzeros;
        if (std::isinf(ord)) return ord > 0 ? largest : smallest;
        return std::pow(sum, 1 / ord);
    }
    void reference(Problem &p) const override {
        const double norm = reference_norm(p("x").v, p.real("norm_type"));
        const double factor = std::fmin(p.real("max_norm") / (norm + 1e-6), 1);
        Array y = p("x");
        for (double &v : y.v)
            v *= factor;
        p.tensors["y"] = y;
    }
};

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
        const Tensor sum = cast_to(F::square(norm(widened(t))), widest);
        squares = squares.defined() ? squares + sum : sum;
    }
    const Tensor limit = number(clip_norm, squares);
    const Tensor factor = limit / F::maximum(F::sqrt(squares), limit);
    std::vector<Tensor> y;
    for (const Tensor &t : x) {
        const Tensor wide = widened(t);
        y.push_back(cast_to(wide * cast_to(factor, wide.dtype()), t.dtype()));
    }
    return y;
}

HALYARD_COMPOSITES {
    composites.add<ClipByNorm>();
}

}  // namespace halyard
