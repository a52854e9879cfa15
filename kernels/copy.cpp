// copy: the elements as they are, dense. Views become tensors through it.
#include "kernels/elementwise.h"

namespace halyard {
namespace {

struct Copy : Elementwise {
    Func x = input("x"), y = output("y");
    Copy() : Elementwise("copy", "x[*] -> y[*]") {
        doc = "y = x";
        other_names = {"clone"};
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8", "bool"};
        contract = {Contract::elementwise, 0};
        moves = gpu = tiled = true;
    }
    void algorithm() override { y(Halide::_) = x(Halide::_); }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *o) { o[0] = in[0]; });
    }
};

}  // namespace

HALYARD_OPS { ops.add<Copy>(); }

}  // namespace halyard
