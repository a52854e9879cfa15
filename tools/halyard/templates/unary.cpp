// new_op and its gradient: an elementwise function of one tensor. The example is softsign.
#include "kernels/elementwise/elementwise.h"

namespace halyard {

// `saves` names what the gradient needs beside dy: "x", "y" or "" (nothing). ulps and dulps bound
// the error of each element.
HALYARD_OPS {
    add_unary(
        ops,
        {.name = "new_op",
         .doc = "y = x / (1 + |x|)",
         .ulps = 2,
         .fn = [](Expr x) { return x / (1_r + abs(x)); },
         .reference = [](double x) { return x / (1 + std::fabs(x)); },
         .saves = "x",
         .gradient = [](Expr x, Expr dy) { return dy / ((1_r + abs(x)) * (1_r + abs(x))); },
         .gradient_reference =
             [](double x, double dy) { return dy / ((1 + std::fabs(x)) * (1 + std::fabs(x))); }});
}

}  // namespace halyard
