// Elementwise kernels for the terms of losses (primitives/composites/loss/losses.cpp) and for
// batch_norm with given statistics. Each is one pass; a composition of simpler ops would take
// several. The gradients in targets are compositions. elementwise.h describes the fields of the
// table.
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

using D = const double *;  // what references get of an element

double softplus_of_minus_abs(double x) {
    return std::log1p(std::exp(-std::fabs(x)));
}
double sigmoid(double x) {
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
// Returns log v, but at least -100, as in PyTorch: the loss is never infinite.
double floored_log(double v) {
    return std::isnan(v) || v < 0 ? NAN : std::fmax(std::log(v), -100);
}

const FormulaSpec loss_terms[] = {
    {.name = "smooth_l1_kernel",
     .doc = "y = (x-target)^2 / (2 beta) where |x-target| < beta, else |x-target| - beta / 2",
     .inputs = {"x", "target"},
     .scalars = {{"beta", 1.0}},
     .ulps = 4,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr {
         // Not abs(x[0] - x[1]), which is less accurate in f16 on the baseline.
         const Expr d = max(x[0] - x[1], x[1] - x[0]);
         return select(d < s[0], d * (d * (0.5_r / s[0])), d - 0.5_r * s[0]);
     },
     .reference =
         [](D x, D s) {
             const double d = std::fabs(x[0] - x[1]);
             return d < s[0] ? 0.5 * d * d / s[0] : d - 0.5 * s[0];
         },
     .gradients = {{.input = "x",
                    .saves = {"x", "target"},
                    .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                        const Expr d = x[0] - x[1];
                        return dy * select(abs(d) < s[0], d / s[0], d > 0_r, 1_r, d < 0_r,
                                           math::number(-1), d);
                    },
                    .reference =
                        [](D x, D s, double dy) {
                            const double d = x[0] - x[1];
                            return dy * (std::fabs(d) < s[0] ? d / s[0]
                                         : d > 0             ? 1
                                         : d < 0             ? -1
                                                             : d);
                        }}},
     .internal = true},
    {.name = "bce_logits_kernel",
     .doc = "y = (1-target) x + (1 + (pos_weight-1) target) log(1 + e^-x)",
     .inputs = {"x", "target", "pos_weight"},
     .ulps = 4,
     .fn = [](const Exprs &x, const Exprs &) -> Expr {
         return (1_r - x[1]) * x[0] +
                (1_r + (x[2] - 1_r) * x[1]) *
                    (math::softplus(math::negative(abs(x[0]))) + max(math::negative(x[0]), 0_r));
     },
     .reference =
         [](D x, D) {
             return (1 - x[1]) * x[0] + (1 + (x[2] - 1) * x[1]) *
                                            (softplus_of_minus_abs(x[0]) + (x[0] > 0 ? 0 : -x[0]));
         },
     .gradients = {{.input = "x",
                    .saves = {"x", "target", "pos_weight"},
                    .fn = [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
                        // In this order no product overflows unless the sum does.
                        const Expr sigmoid = math::sigmoid(math::negative(x[0]));
                        return dy * ((1_r - x[1]) - (sigmoid + sigmoid * x[1] * (x[2] - 1_r)));
                    },
                    .reference =
                        [](D x, D, double dy) {
                            return dy * ((1 - x[1]) - (1 + (x[2] - 1) * x[1]) * sigmoid(-x[0]));
                        },
                    .ulps = 8,
                    .abs_sum =
                        [](D x, D, double dy) {
                            const double size = 1 + std::fabs(x[1]) +
                                                (1 + (std::fabs(x[2]) + 1) * std::fabs(x[1])) *
                                                    sigmoid(-x[0]);
                            // What dy is multiplied with may overflow f32, though dy is 0.
                            return size < 3e38 ? std::fabs(dy) * size : INFINITY;
                        }}},
     .abs_sum =
         [](D x, D) {
             return (1 + std::fabs(x[1])) * std::fabs(x[0]) +
                    (1 + (std::fabs(x[2]) + 1) * std::fabs(x[1])) *
                        (softplus_of_minus_abs(x[0]) + std::fabs(x[0]));
         },
     .internal = true},
    {.name = "bce_kernel",
     .doc = "y = -target log x - (1-target) log(1-x), logarithms at least -100",
     .inputs = {"x", "target"},
     .ulps = 4,
     .fn = [](const Exprs &x, const Exprs &) -> Expr {
         auto floored = [](const Expr &v) {
             return select(v < math::number(-100), math::number(-100), v);
         };
         const Expr in = floored(log(x[0]));
         const Expr out = floored(math::log1p(math::negative(x[0])));
         // Strict, because an infinite target makes the sum NaN.
         return math::negative(Halide::strict_float(x[1] * in + (1_r - x[1]) * out));
     },
     .reference =
         [](D x, D) {
             return -(x[1] * floored_log(x[0]) +
                      (1 - x[1]) * (x[0] > 1           ? NAN
                                    : std::isnan(x[0]) ? x[0]
                                                       : std::fmax(std::log1p(-x[0]), -100)));
         },
     .gradients = {{.input = "x",
                    .saves = {"x", "target"},
                    .fn = [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
                        return dy * (x[0] - x[1]) / max((1_r - x[0]) * x[0], 1e-12_r);
                    },
                    .reference =
                        [](D x, D, double dy) {
                            const double d = (1 - x[0]) * x[0];
                            return dy * (x[0] - x[1]) / (std::isnan(d) ? d : std::fmax(d, 1e-12));
                        }}},
     .abs_sum =
         [](D x, D) {
             return std::fabs(x[1] * floored_log(x[0])) +
                    (1 + std::fabs(x[1])) * std::fabs(std::fmax(std::log1p(-x[0]), -100));
         },
     .internal = true},
    {.name = "normalize_kernel",
     .doc = "y = (x - mean) scale + offset",
     .inputs = {"x", "mean", "scale", "offset"},
     .ulps = 3,
     .fn = [](const Exprs &x, const Exprs &) { return (x[0] - x[1]) * x[2] + x[3]; },
     .reference = [](D x, D) { return (x[0] - x[1]) * x[2] + x[3]; },
     .abs_sum =
         [](D x, D) {
             return (std::fabs(x[0]) + std::fabs(x[1])) * std::fabs(x[2]) + std::fabs(x[3]);
         },
     .internal = true},
};

}  // namespace

HALYARD_OPS {
    add_formula(ops, loss_terms);
}

}  // namespace halyard
