// Elementwise functions with scalars, or of more than two tensors: a table for each group of
// functions. A row has the function, its reference and its gradients; elementwise.h describes the
// fields. x are the tensors' elements, s the scalars, both in the row's order.
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

using D = const double *;  // what references get of an element

double larger(double a, double b) {
    return a > b || std::isnan(a) ? a : b;
}

// soft_shrink and hard_shrink: dx = dy, and 0 where the function is 0.
const FormulaSpec::Gradient gradient_of_shrink = {
    .input = "x",
    .saves = {"x"},
    .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
        return select(abs(x[0]) <= s[0], 0_r, dy);
    },
    .reference = [](D x, D s, double dy) { return std::fabs(x[0]) <= s[0] ? 0 : dy; },
    .ulps = 0};

const FormulaSpec activations[] = {
    {.name = "leaky_relu",
     .doc = "y = x where x > 0, else alpha x",
     .inputs = {"x"},
     .scalars = {{"alpha", 0.2}},
     .ulps = 1,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr {
         return select(x[0] > 0_r, x[0], s[0] * x[0]);
     },
     .reference = [](D x, D s) { return x[0] > 0 ? x[0] : s[0] * x[0]; },
     .gradients = {{.input = "x",
                    .saves = {"x"},
                    .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                        return select(x[0] > 0_r, dy, s[0] * dy);
                    },
                    .reference = [](D x, D s, double dy) { return x[0] > 0 ? dy : s[0] * dy; },
                    .ulps = 1}},
     .alias = "LeakyReLU"},
    {.name = "prelu_kernel",
     .doc = "y = x where x > 0, else weight x",
     .inputs = {"x", "weight"},
     .ulps = 0.5,
     .fn = [](const Exprs &x, const Exprs &) -> Expr {
         return select(x[0] > 0_r, x[0], x[1] * x[0]);
     },
     .reference = [](D x, D) { return x[0] > 0 ? x[0] : x[1] * x[0]; },
     .gradients = {{.input = "x",
                    .saves = {"x", "weight"},
                    .fn = [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
                        return select(x[0] > 0_r, dy, x[1] * dy);
                    },
                    .reference = [](D x, D, double dy) { return x[0] > 0 ? dy : x[1] * dy; },
                    .ulps = 0.5},
                   {.input = "weight",
                    .saves = {"x"},
                    .fn = [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
                        return select(x[0] > 0_r, 0_r, x[0] * dy);
                    },
                    .reference = [](D x, D, double dy) { return x[0] > 0 ? 0 : x[0] * dy; },
                    .ulps = 0.5}},
     .internal = true},
    {.name = "elu",
     .doc = "y = x where x > 0, else alpha (e^x - 1)",
     .inputs = {"x"},
     .scalars = {{"alpha", 1.0}},
     .ulps = 3,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr {
         return select(x[0] > 0_r, x[0], s[0] * math::expm1(x[0]));
     },
     .reference = [](D x, D s) { return x[0] > 0 ? x[0] : s[0] * std::expm1(x[0]); },
     .gradients = {{.input = "x",
                    .saves = {"x"},
                    .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                        return select(x[0] > 0_r, dy, dy * s[0] * exp(x[0]));
                    },
                    .reference =
                        [](D x, D s, double dy) {
                            return x[0] > 0 ? dy : dy * s[0] * std::exp(x[0]);
                        }}}},
    {.name = "celu",
     .doc = "y = x where x > 0, else alpha (e^(x/alpha) - 1)",
     .inputs = {"x"},
     .scalars = {{"alpha", 1.0}},
     .ulps = 4,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr {
         return select(x[0] > 0_r, x[0], s[0] * math::expm1(x[0] / s[0]));
     },
     .reference = [](D x, D s) { return x[0] > 0 ? x[0] : s[0] * std::expm1(x[0] / s[0]); },
     .gradients = {{.input = "x",
                    .saves = {"x"},
                    .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                        return select(x[0] > 0_r, dy, dy * exp(x[0] / s[0]));
                    },
                    .reference =
                        [](D x, D s, double dy) {
                            return x[0] > 0 ? dy : dy * std::exp(x[0] / s[0]);
                        }}},
     .alias = "CeLU"},
    {.name = "soft_shrink",
     .doc = "y = x moved by lambd toward 0, and 0 within lambd of it",
     .inputs = {"x"},
     .scalars = {{"lambd", 0.5}},
     .ulps = 1,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr {
         return select(x[0] > s[0], x[0] - s[0], x[0] < math::negative(s[0]), x[0] + s[0],
                       math::is_nan(x[0]), x[0], 0_r);
     },
     .reference =
         [](D x, D s) {
             return x[0] > s[0]        ? x[0] - s[0]
                    : x[0] < -s[0]     ? x[0] + s[0]
                    : std::isnan(x[0]) ? x[0]
                                       : 0;
         },
     .gradients = {gradient_of_shrink},
     .alias = "SoftShrink",
     .functional = "softshrink"},
    {.name = "hard_shrink",
     .doc = "y = x, and 0 within lambd of 0",
     .inputs = {"x"},
     .scalars = {{"lambd", 0.5}},
     .ulps = 0,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr {
         return select(abs(x[0]) <= s[0], 0_r, x[0]);
     },
     .reference = [](D x, D s) { return std::fabs(x[0]) <= s[0] ? 0 : x[0]; },
     .gradients = {gradient_of_shrink},
     .alias = "HShrink",
     .functional = "hardshrink"},
    {.name = "hard_tanh",
     .doc = "y = min(max(x, min_val), max_val)",
     .inputs = {"x"},
     .scalars = {{"min_val", -1.0}, {"max_val", 1.0}},
     .ulps = 0,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr { return min(max(x[0], s[0]), s[1]); },
     .reference =
         [](D x, D s) { return std::isnan(x[0]) ? x[0] : std::fmin(std::fmax(x[0], s[0]), s[1]); },
     .gradients = {{.input = "x",
                    .saves = {"x"},
                    .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                        return select(x[0] <= s[0] || x[0] >= s[1], 0_r, dy);
                    },
                    .reference = [](D x, D s,
                                    double dy) { return x[0] <= s[0] || x[0] >= s[1] ? 0 : dy; },
                    .ulps = 0}},
     .alias = "Hardtanh",
     .functional = "hardtanh"},
    {.name = "threshold",
     .doc = "y = x where x > thr, else value",
     .inputs = {"x"},
     .scalars = {{"thr", 0.0}, {"value", 0.0}},
     .ulps = 0,
     .fn = [](const Exprs &x, const Exprs &s) -> Expr { return select(x[0] <= s[0], s[1], x[0]); },
     .reference = [](D x, D s) { return x[0] <= s[0] ? s[1] : x[0]; },
     .gradients = {{.input = "x",
                    .saves = {"x"},
                    .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                        return select(x[0] <= s[0], 0_r, dy);
                    },
                    .reference = [](D x, D s, double dy) { return x[0] <= s[0] ? 0 : dy; },
                    .ulps = 0}}},
};

// Sums of terms that may cancel: the error is relative to the sum of their absolute values.
const FormulaSpec sums[] = {
    {.name = "lerp",
     .doc = "y = start + weight (end - start)",
     .inputs = {"start", "end", "weight"},
     .ulps = 2,
     .fn = [](const Exprs &x, const Exprs &) { return x[0] + x[2] * (x[1] - x[0]); },
     .reference = [](D x, D) { return x[0] + x[2] * (x[1] - x[0]); },
     .gradients =
         {{.input = "start",
           .saves = {"weight"},
           .fn = [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * (1_r - x[2]); },
           .reference = [](D x, D, double dy) { return dy * (1 - x[2]); }},
          {.input = "end",
           .saves = {"weight"},
           .fn = [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * x[2]; },
           .reference = [](D x, D, double dy) { return dy * x[2]; },
           .ulps = 0.5},
          {.input = "weight",
           .saves = {"start", "end"},
           .fn = [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * (x[1] - x[0]); },
           .reference = [](D x, D, double dy) { return dy * (x[1] - x[0]); }}},
     .abs_sum =
         [](D x, D) {
             return std::fabs(x[0]) + std::fabs(x[2]) * (std::fabs(x[1]) + std::fabs(x[0]));
         }},
    {.name = "addcmul",
     .doc = "y = x + value a b",
     .inputs = {"x", "a", "b"},
     .scalars = {{"value", 1.0}},
     .ulps = 2,
     .fn = [](const Exprs &x, const Exprs &s) { return x[0] + s[0] * x[1] * x[2]; },
     .reference = [](D x, D s) { return x[0] + s[0] * x[1] * x[2]; },
     .gradients =
         {{.input = "a",
           .saves = {"b"},
           .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) { return s[0] * dy * x[2]; },
           .reference = [](D x, D s, double dy) { return s[0] * dy * x[2]; }},
          {.input = "b",
           .saves = {"a"},
           .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) { return s[0] * dy * x[1]; },
           .reference = [](D x, D s, double dy) { return s[0] * dy * x[1]; }}},
     .abs_sum = [](D x, D s) { return std::fabs(x[0]) + std::fabs(s[0] * x[1] * x[2]); }},
    {.name = "addcdiv",
     .doc = "y = x + value a / b",
     .inputs = {"x", "a", "b"},
     .scalars = {{"value", 1.0}},
     .ulps = 3,
     .fn = [](const Exprs &x, const Exprs &s) { return x[0] + s[0] * x[1] / x[2]; },
     .reference = [](D x, D s) { return x[0] + s[0] * x[1] / x[2]; },
     .gradients =
         {{.input = "a",
           .saves = {"b"},
           .fn = [](const Exprs &x, const Exprs &s, const Expr &dy) { return s[0] * dy / x[2]; },
           .reference = [](D x, D s, double dy) { return s[0] * dy / x[2]; }},
          {.input = "b",
           .saves = {"a", "b"},
           .fn = [](const Exprs &x, const Exprs &s,
                    const Expr &dy) { return math::negative(s[0]) * dy * (x[1] / x[2]) / x[2]; },
           .reference = [](D x, D s, double dy) { return -s[0] * dy * (x[1] / x[2]) / x[2]; }}},
     .abs_sum = [](D x, D s) { return std::fabs(x[0]) + std::fabs(s[0] * x[1] / x[2]); }},
};

// 0 log y is 0, unless y is NaN. logaddexp of equal infinities is a case of its own, because their
// difference is NaN.
const FormulaSpec logarithms[] = {
    {.name = "logaddexp",
     .doc = "y = log(e^a + e^b)",
     .inputs = {"a", "b"},
     .ulps = 3,
     .fn = [](const Exprs &x, const Exprs &) -> Expr {
         return select(x[0] == x[1], x[0] + math::number(M_LN2),
                       max(x[0], x[1]) + math::log1p(exp(math::negative(abs(x[0] - x[1])))));
     },
     .reference =
         [](D x, D) {
             return x[0] == x[1]
                        ? x[0] + M_LN2
                        : larger(x[0], x[1]) + std::log1p(std::exp(-std::fabs(x[0] - x[1])));
         },
     .abs_sum =
         [](D x, D) {
             return std::fabs(larger(x[0], x[1])) + std::log1p(std::exp(-std::fabs(x[0] - x[1])));
         },
     .dtypes = {"f32", "f64"}},
    {.name = "xlogy",
     .doc = "y = a log b, and 0 where a is 0 and b is a number",
     .inputs = {"a", "b"},
     .ulps = 3,
     .fn = [](const Exprs &x, const Exprs &) -> Expr {
         return select(x[0] == 0_r && x[1] == x[1], 0_r, x[0] * log(x[1]));
     },
     .reference = [](D x, D) { return x[0] == 0 && !std::isnan(x[1]) ? 0 : x[0] * std::log(x[1]); },
     .gradients =
         {{.input = "a",
           .saves = {"a", "b"},
           .fn = [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
               return select(x[0] == 0_r && x[1] <= 0_r, 0_r, dy * log(x[1]));
           },
           .reference = [](D x, D,
                           double dy) { return x[0] == 0 && x[1] <= 0 ? 0 : dy * std::log(x[1]); }},
          {.input = "b",
           .saves = {"a", "b"},
           .fn = [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * x[0] / x[1]; },
           .reference = [](D x, D, double dy) { return dy * x[0] / x[1]; }}}},
};

}  // namespace

HALYARD_OPS {
    add_formula(ops, activations);
    add_formula(ops, sums);
    add_formula(ops, logarithms);
}

}  // namespace halyard
