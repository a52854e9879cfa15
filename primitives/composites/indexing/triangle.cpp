// tril and triu: one kernel keeps a band of diagonals.
#include <algorithm>

#include "primitives/composites/composite.h"
#include "primitives/ops/band_kernel.h"

namespace halyard {
namespace {

// Returns x with 0 for the elements left of diagonal `lower` and right of diagonal `upper`.
Tensor band(const char *op, const Tensor &x, int64_t lower, int64_t upper) {
    if (x.rank() < 2)
        throw ShapeError(op, "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
    auto within = [](int64_t diagonal) {
        return std::clamp<int64_t>(diagonal, -INT32_MAX, INT32_MAX);
    };
    return kernel::band(x, within(lower), within(upper));
}

struct Triangle : Composite {
    const bool upper;
    explicit Triangle(bool is_upper)
        : Composite(is_upper ? "triu" : "tril", "x[*] -> y[*]",
                    is_upper ? "y[..., i, j] = x[..., i, j] where j - i >= diagonal, else 0"
                             : "y[..., i, j] = x[..., i, j] where j - i <= diagonal, else 0"),
          upper(is_upper) {
        at_call("diagonal", AttrKind::integer, "0");
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 diagonal=1", "d0=1 d1=17 d2=7 diagonal=-3",
                   "d0=1 d1=2 d2=3 diagonal=99999999999"};
    }
    Result compose(const Call &call) const override {
        const int64_t diagonal = call.integer("diagonal");
        return {upper ? band("triu", call[0], diagonal, INT32_MAX)
                      : band("tril", call[0], -INT32_MAX, diagonal)};
    }
    void reference(Problem &p) const override {
        Array y = p("x");
        const int64_t rows = y.shape[1];
        const int64_t columns = y.shape[2];
        for (int64_t e = 0; e < int64_t(y.v.size()); e++) {
            const int64_t place = e % columns - e / columns % rows;
            if (upper ? place < p["diagonal"] : place > p["diagonal"]) y.v[size_t(e)] = 0;
        }
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Triangle>(false);
    composites.add<Triangle>(true);
    // band_kernel is linear and its own adjoint.
    composites.gradient({"band_kernel", "x", {"dy"}, same_op});
}

}  // namespace halyard
