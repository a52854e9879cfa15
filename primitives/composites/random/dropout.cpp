// dropout: one kernel draws the mask and applies it.
#include "primitives/autograd/views.h"
#include "primitives/composites/random/draw.h"
#include "primitives/ops/dropout_kernel.h"

namespace halyard {
namespace {

struct Dropout : Composite {
    Dropout()
        : Composite(
              "dropout", "x[*] -> y[*] mask:bool[*]",
              "y = x / (1-p) where mask, else 0; equal seeds and offsets give equal masks, -1 "
              "takes them from the default generator") {
        real("p", "0.5");
        attr("seed", -1);
        attr("offset", -1);
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::elementwise, 1.5};
        samples = {"d0=2 d1=3 d2=4 p=0 offset=0"};
    }
    Result compose(const Call &call) const override {
        const double p = call.real("p");
        if (!(p >= 0 && p <= 1))
            throw AttrError("dropout", "p is " + std::to_string(p) + ", expected 0 to 1");
        const GeneratorWords at = words_of(generator_of(call));
        // The kernel numbers the elements of one row: a view's rows would draw the same numbers.
        const Tensor &x = call[0];
        const Tensor row = reshaped(x, {x.elements()});
        const auto [y, mask] = kernel::dropout(row, at.seed_lo, at.seed_hi, at.offset_lo,
                                               at.offset_hi, p);
        return {reshaped(y, x.shape()), reshaped(mask, x.shape())};
    }
    void reference(Problem &p) const override {
        p.tensors["y"] = p("x");
        p.tensors["mask"] = Array(p("x").shape, 1);
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Dropout>();
    // dropout_kernel_dx multiplies dy by numbers, so it is its own adjoint in dy.
    composites.gradient({"dropout_kernel_dx", "dy", {"mask", "ddx"}, same_op});
}

}  // namespace halyard
