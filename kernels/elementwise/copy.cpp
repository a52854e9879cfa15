// copy: makes a contiguous tensor of any view.
#include "dsl/dtypes.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

struct Copy : Elementwise {
    Func x = input("x");
    Func y = output("y");
    Copy() : Elementwise("copy", "x[*] -> y[*]") {
        doc = "y = x";
        other_names = {"clone"};
        dtypes = all_dtypes;
        contract = {Contract::elementwise, 0};
        copies_bits = tiled = true;
    }
    void algorithm() override { y(Halide::_) = x(Halide::_); }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *o) { o[0] = in[0]; });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Copy>();
}

}  // namespace halyard
