// Elementwise functions of two tensors, with NumPy's broadcasting. One line each.
#include "kernels/elementwise.h"

namespace halyard {

HALYARD_OPS {
    add_binary(ops, {.name = "add", .doc = "y = a + b", .ulps = 0.5,
                     .fn = [](Expr a, Expr b) { return a + b; }, .reference = [](double a, double b) { return a + b; },
                     .saves = "", .da = [](Expr, Expr, Expr dy) { return dy; }, .db = [](Expr, Expr, Expr dy) { return dy; },
                     .da_reference = [](double, double, double dy) { return dy; }, .db_reference = [](double, double, double dy) { return dy; },
                     .dulps = 0, .dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"}});
    add_binary(ops, {.name = "mul", .doc = "y = a * b", .ulps = 0.5,
                     .fn = [](Expr a, Expr b) { return a * b; }, .reference = [](double a, double b) { return a * b; },
                     .saves = "ab", .da = [](Expr, Expr b, Expr dy) { return dy * b; }, .db = [](Expr a, Expr, Expr dy) { return dy * a; },
                     .da_reference = [](double, double b, double dy) { return dy * b; }, .db_reference = [](double a, double, double dy) { return dy * a; },
                     .dulps = 0.5, .dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"}});
}

}  // namespace halyard
