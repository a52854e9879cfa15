// Elementwise functions with run-time numbers, or of three tensors. One line each: the function,
// its reference, its gradients.
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

using D = const double *;

double larger(double a, double b) {
    return a > b || std::isnan(a) ? a : b;
}

// A table, the forward function beside its gradients.
void add_activations(OpTable &ops) {
    add_formula(ops, {.name = "leaky_relu",
                      .doc = "y = x where x > 0, else alpha x",
                      .inputs = {"x"},
                      .scalars = {{"alpha", 0.2}},
                      .ulps = 1,
                      .fn = [](const Exprs &x, const Exprs &s) -> Expr {
                          return select(x[0] > 0_r, x[0], s[0] * x[0]);
                      },
                      .reference = [](D x, D s) { return x[0] > 0 ? x[0] : s[0] * x[0]; },
                      .slopes = {{"x",
                                  {"x"},
                                  [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                                      return select(x[0] > 0_r, dy, s[0] * dy);
                                  },
                                  [](D x, D s, double dy) { return x[0] > 0 ? dy : s[0] * dy; },
                                  1}},
                      .alias = "LeakyReLU",
                      .gpu = true});
    add_formula(ops, {.name = "prelu_kernel",
                      .doc = "y = x where x > 0, else weight x",
                      .inputs = {"x", "weight"},
                      .ulps = 0.5,
                      .fn = [](const Exprs &x, const Exprs &) -> Expr {
                          return select(x[0] > 0_r, x[0], x[1] * x[0]);
                      },
                      .reference = [](D x, D) { return x[0] > 0 ? x[0] : x[1] * x[0]; },
                      .slopes = {{"x",
                                  {"x", "weight"},
                                  [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
                                      return select(x[0] > 0_r, dy, x[1] * dy);
                                  },
                                  [](D x, D, double dy) { return x[0] > 0 ? dy : x[1] * dy; },
                                  0.5},
                                 {"weight",
                                  {"x"},
                                  [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
                                      return select(x[0] > 0_r, 0_r, x[0] * dy);
                                  },
                                  [](D x, D, double dy) { return x[0] > 0 ? 0 : x[0] * dy; },
                                  0.5}},
                      .internal = true});
    add_formula(ops,
                {.name = "elu",
                 .doc = "y = x where x > 0, else alpha (e^x - 1)",
                 .inputs = {"x"},
                 .scalars = {{"alpha", 1.0}},
                 .ulps = 3,
                 .fn = [](const Exprs &x, const Exprs &s) -> Expr {
                     return select(x[0] > 0_r, x[0], s[0] * math::expm1(x[0]));
                 },
                 .reference = [](D x, D s) { return x[0] > 0 ? x[0] : s[0] * std::expm1(x[0]); },
                 .slopes = {{"x",
                             {"x"},
                             [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                                 return select(x[0] > 0_r, dy, dy * s[0] * exp(x[0]));
                             },
                             [](D x, D s, double dy) {
                                 return x[0] > 0 ? dy : dy * s[0] * std::exp(x[0]);
                             }}},
                 .gpu = true});
    add_formula(ops, {.name = "celu",
                      .doc = "y = x where x > 0, else alpha (e^(x/alpha) - 1)",
                      .inputs = {"x"},
                      .scalars = {{"alpha", 1.0}},
                      .ulps = 4,
                      .fn = [](const Exprs &x, const Exprs &s) -> Expr {
                          return select(x[0] > 0_r, x[0], s[0] * math::expm1(x[0] / s[0]));
                      },
                      .reference =
                          [](D x, D s) { return x[0] > 0 ? x[0] : s[0] * std::expm1(x[0] / s[0]); },
                      .slopes = {{"x",
                                  {"x"},
                                  [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                                      return select(x[0] > 0_r, dy, dy * exp(x[0] / s[0]));
                                  },
                                  [](D x, D s, double dy) {
                                      return x[0] > 0 ? dy : dy * std::exp(x[0] / s[0]);
                                  }}},
                      .alias = "CeLU",
                      .gpu = true});
    add_formula(ops,
                {.name = "soft_shrink",
                 .doc = "y = x moved by lambd toward 0, and 0 within lambd of it",
                 .inputs = {"x"},
                 .scalars = {{"lambd", 0.5}},
                 .ulps = 1,
                 .fn = [](const Exprs &x, const Exprs &s) -> Expr {
                     return select(x[0] > s[0], x[0] - s[0], x[0] < math::negative(s[0]),
                                   x[0] + s[0], math::is_nan(x[0]), x[0], 0_r);
                 },
                 .reference =
                     [](D x, D s) {
                         return x[0] > s[0]        ? x[0] - s[0]
                                : x[0] < -s[0]     ? x[0] + s[0]
                                : std::isnan(x[0]) ? x[0]
                                                   : 0;
                     },
                 .slopes = {{"x",
                             {"x"},
                             [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                                 return select(abs(x[0]) <= s[0], 0_r, dy);
                             },
                             [](D x, D s, double dy) { return std::fabs(x[0]) <= s[0] ? 0 : dy; },
                             0}},
                 .alias = "SoftShrink",
                 .functional = "softshrink",
                 .gpu = true});
    add_formula(ops,
                {.name = "hard_shrink",
                 .doc = "y = x, and 0 within lambd of 0",
                 .inputs = {"x"},
                 .scalars = {{"lambd", 0.5}},
                 .ulps = 0,
                 .fn = [](const Exprs &x, const Exprs &s) -> Expr {
                     return select(abs(x[0]) <= s[0], 0_r, x[0]);
                 },
                 .reference = [](D x, D s) { return std::fabs(x[0]) <= s[0] ? 0 : x[0]; },
                 .slopes = {{"x",
                             {"x"},
                             [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                                 return select(abs(x[0]) <= s[0], 0_r, dy);
                             },
                             [](D x, D s, double dy) { return std::fabs(x[0]) <= s[0] ? 0 : dy; },
                             0}},
                 .alias = "HShrink",
                 .functional = "hardshrink",
                 .gpu = true});
    add_formula(
        ops,
        {.name = "hard_tanh",
         .doc = "y = min(max(x, min_val), max_val)",
         .inputs = {"x"},
         .scalars = {{"min_val", -1.0}, {"max_val", 1.0}},
         .ulps = 0,
         .fn = [](const Exprs &x, const Exprs &s) -> Expr { return min(max(x[0], s[0]), s[1]); },
         .reference =
             [](D x, D s) {
                 return std::isnan(x[0]) ? x[0] : std::fmin(std::fmax(x[0], s[0]), s[1]);
             },
         .slopes = {{"x",
                     {"x"},
                     [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                         return select(x[0] <= s[0] || x[0] >= s[1], 0_r, dy);
                     },
                     [](D x, D s, double dy) { return x[0] <= s[0] || x[0] >= s[1] ? 0 : dy; },
                     0}},
         .alias = "Hardtanh",
         .functional = "hardtanh",
         .gpu = true});
    add_formula(ops, {.name = "threshold",
                      .doc = "y = x where x > thr, else value",
                      .inputs = {"x"},
                      .scalars = {{"thr", 0.0}, {"value", 0.0}},
                      .ulps = 0,
                      .fn = [](const Exprs &x, const Exprs &s) -> Expr {
                          return select(x[0] <= s[0], s[1], x[0]);
                      },
                      .reference = [](D x, D s) { return x[0] <= s[0] ? s[1] : x[0]; },
                      .slopes = {{"x",
                                  {"x"},
                                  [](const Exprs &x, const Exprs &s, const Expr &dy) -> Expr {
                                      return select(x[0] <= s[0], 0_r, dy);
                                  },
                                  [](D x, D s, double dy) { return x[0] <= s[0] ? 0 : dy; },
                                  0}},
                      .gpu = true});
}

// Sums of terms that may cancel: errors count against the terms' sizes.
void add_sums(OpTable &ops) {
    add_formula(
        ops,
        {.name = "lerp",
         .doc = "y = start + weight (end - start)",
         .inputs = {"start", "end", "weight"},
         .ulps = 2,
         .fn = [](const Exprs &x, const Exprs &) { return x[0] + x[2] * (x[1] - x[0]); },
         .reference = [](D x, D) { return x[0] + x[2] * (x[1] - x[0]); },
         .slopes =
             {{"start",
               {"weight"},
               [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * (1_r - x[2]); },
               [](D x, D, double dy) { return dy * (1 - x[2]); }},
              {"end",
               {"weight"},
               [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * x[2]; },
               [](D x, D, double dy) { return dy * x[2]; },
               0.5},
              {"weight",
               {"start", "end"},
               [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * (x[1] - x[0]); },
               [](D x, D, double dy) { return dy * (x[1] - x[0]); }}},
         .magnitude =
             [](D x, D) {
                 return std::fabs(x[0]) + std::fabs(x[2]) * (std::fabs(x[1]) + std::fabs(x[0]));
             }});
    add_formula(
        ops,
        {.name = "addcmul",
         .doc = "y = x + value a b",
         .inputs = {"x", "a", "b"},
         .scalars = {{"value", 1.0}},
         .ulps = 2,
         .fn = [](const Exprs &x, const Exprs &s) { return x[0] + s[0] * x[1] * x[2]; },
         .reference = [](D x, D s) { return x[0] + s[0] * x[1] * x[2]; },
         .slopes =
             {{"a",
               {"b"},
               [](const Exprs &x, const Exprs &s, const Expr &dy) { return s[0] * dy * x[2]; },
               [](D x, D s, double dy) { return s[0] * dy * x[2]; }},
              {"b",
               {"a"},
               [](const Exprs &x, const Exprs &s, const Expr &dy) { return s[0] * dy * x[1]; },
               [](D x, D s, double dy) { return s[0] * dy * x[1]; }}},
         .magnitude = [](D x, D s) { return std::fabs(x[0]) + std::fabs(s[0] * x[1] * x[2]); }});
    add_formula(
        ops,
        {.name = "addcdiv",
         .doc = "y = x + value a / b",
         .inputs = {"x", "a", "b"},
         .scalars = {{"value", 1.0}},
         .ulps = 3,
         .fn = [](const Exprs &x, const Exprs &s) { return x[0] + s[0] * x[1] / x[2]; },
         .reference = [](D x, D s) { return x[0] + s[0] * x[1] / x[2]; },
         .slopes = {{"a",
                     {"b"},
                     [](const Exprs &x, const Exprs &s, const Expr &dy) {
                         return s[0] * dy / x[2];
                     },
                     [](D x, D s, double dy) { return s[0] * dy / x[2]; }},
                    {"b",
                     {"a", "b"},
                     [](const Exprs &x, const Exprs &s, const Expr &dy) {
                         return math::negative(s[0]) * dy * (x[1] / x[2]) / x[2];
                     },
                     [](D x, D s, double dy) { return -s[0] * dy * (x[1] / x[2]) / x[2]; }}},
         .magnitude = [](D x, D s) { return std::fabs(x[0]) + std::fabs(s[0] * x[1] / x[2]); }});
}

// 0 log y is 0, whatever y is (but NaN). Equal infinities have no difference.
void add_logarithms(OpTable &ops) {
    add_formula(ops, {.name = "logaddexp",
                      .doc = "y = log(e^a + e^b)",
                      .inputs = {"a", "b"},
                      .ulps = 3,
                      .fn = [](const Exprs &x, const Exprs &) -> Expr {
                          return select(x[0] == x[1], x[0] + math::number(M_LN2),
                                        max(x[0], x[1]) +
                                            math::log1p(exp(math::negative(abs(x[0] - x[1])))));
                      },
                      .reference =
                          [](D x, D) {
                              return x[0] == x[1]
                                         ? x[0] + M_LN2
                                         : larger(x[0], x[1]) +
                                               std::log1p(std::exp(-std::fabs(x[0] - x[1])));
                          },
                      .magnitude =
                          [](D x, D) {
                              return std::fabs(larger(x[0], x[1])) +
                                     std::log1p(std::exp(-std::fabs(x[0] - x[1])));
                          },
                      .dtypes = {"f32", "f64"}});
    add_formula(
        ops,
        {.name = "xlogy",
         .doc = "y = a log b, and 0 where a is 0 and b is a number",
         .inputs = {"a", "b"},
         .ulps = 3,
         .fn = [](const Exprs &x, const Exprs &) -> Expr {
             return select(x[0] == 0_r && x[1] == x[1], 0_r, x[0] * log(x[1]));
         },
         .reference = [](D x,
                         D) { return x[0] == 0 && !std::isnan(x[1]) ? 0 : x[0] * std::log(x[1]); },
         .slopes = {{"a",
                     {"a", "b"},
                     [](const Exprs &x, const Exprs &, const Expr &dy) -> Expr {
                         return select(x[0] == 0_r && x[1] <= 0_r, 0_r, dy * log(x[1]));
                     },
                     [](D x, D, double dy) {
                         return x[0] == 0 && x[1] <= 0 ? 0 : dy * std::log(x[1]);
                     }},
                    {"b",
                     {"a", "b"},
                     [](const Exprs &x, const Exprs &, const Expr &dy) { return dy * x[0] / x[1]; },
                     [](D x, D, double dy) { return dy * x[0] / x[1]; }}}});
}

}  // namespace

HALYARD_OPS {
    add_activations(ops);
    add_sums(ops);
    add_logarithms(ops);
}

}  // namespace halyard
