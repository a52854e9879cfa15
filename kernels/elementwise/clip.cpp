// clip_by_norm: primitives/composites/updates.cpp states it. clip_by_global_norm takes any number
// of tensors and is a function there.
#include <cmath>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

struct ClipByNorm : Composite {
    ClipByNorm()
        : Composite("clip_by_norm", "x[*] -> y[*]",
                    "y = x min(max_norm / (|x| + 1e-6), 1), |x| the norm of order norm_type over "
                    "all elements") {
        attrs.push_back({"max_norm", AttrKind::real, "!", {}, {}, true});
        at_call("norm_type", AttrKind::real, "2");
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, 16};
        samples = {"d0=1 d1=1 d2=1 max_norm=0.5", "d0=2 d1=3 d2=5 max_norm=1",
                   "d0=2 d1=3 d2=5 max_norm=1 norm_type=1",
                   "d0=7 d1=1 d2=31 max_norm=2 norm_type=inf", "d0=2 d1=3 d2=5 max_norm=1000"};
    }
    void reference(Problem &p) const override {
        const double ord = p.real("norm_type");
        double sum = 0, most = 0;
        for (double v : p("x").v) {
            sum += std::pow(std::fabs(v), ord);
            most = std::fmax(most, std::fabs(v));
        }
        const double by = std::fmin(
            p.real("max_norm") / ((std::isinf(ord) ? most : std::pow(sum, 1 / ord)) + 1e-6), 1);
        Array y = p("x");
        for (double &v : y.v)
            v *= by;
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ClipByNorm>();
}

}  // namespace halyard
