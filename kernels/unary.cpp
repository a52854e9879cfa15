// Elementwise functions of one tensor. One line each: the function, its reference, and its gradient.
#include "kernels/elementwise.h"

namespace halyard {

HALYARD_OPS {
    add_unary(ops, {.name = "exp", .doc = "y = e^x", .ulps = 1.5,
                    .fn = [](Expr x) { return exp(x); }, .reference = [](double x) { return std::exp(x); },
                    .saves = "y", .dfn = [](Expr y, Expr dy) { return dy * y; }, .dreference = [](double y, double dy) { return dy * y; }});
    add_unary(ops, {.name = "relu", .doc = "y = max(x, 0)", .ulps = 0,
                    .fn = [](Expr x) -> Expr { return max(x, 0_r); }, .reference = [](double x) { return x > 0 || std::isnan(x) ? x : 0; },
                    .saves = "y", .dfn = [](Expr y, Expr dy) -> Expr { return select(y > 0_r, dy, 0_r); }, .dreference = [](double y, double dy) { return y > 0 ? dy : 0; },
                    .dulps = 0, .alias = "ReLU", .dtypes = {"f32", "f16", "bf16", "f64", "i32"}});
    add_unary(ops, {.name = "tanh", .doc = "y = tanh x", .ulps = 2,
                    .fn = [](Expr x) { return tanh(x); }, .reference = [](double x) { return std::tanh(x); },
                    .saves = "y", .dfn = [](Expr y, Expr dy) -> Expr { return dy * (1_r - y * y); }, .dreference = [](double y, double dy) { return dy * (1 - y * y); }});
}

}  // namespace halyard
