// Elementwise functions of two tensors, broadcast as in NumPy: a table for each group of functions.
// elementwise.h describes the fields.
#include "dsl/dtypes.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

const std::vector<std::string> numbers = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
const std::vector<std::string> integers = {"i64", "i32", "i8", "u8"};

// Returns the gradient of maximum for the side `mine`. The larger side gets all of dy; equal sides
// get half each, as in MindSpore. If a side is NaN both get 0.
Expr maximum_gradient(const Expr &mine, const Expr &other, const Expr &dy) {
    return select(mine > other, dy, select(mine == other, dy * 0.5_r, 0_r));
}
double maximum_gradient(double mine, double other, double dy) {
    return mine > other ? dy : mine == other ? dy * 0.5 : 0;
}

// The derivatives of a^b: b a^(b-1) in a, a^b log a in b. At b = 0 and at a = 0 they are the
// limits, 0. For b < 1/2 the exponent b - 1 would be rounded, possibly to an integer, which gives a
// negative a a power it doesn't have. There a^b / a replaces a^(b-1); it overflows only if the
// result does. An infinite b isn't rounded, and has no sign that a division by a may change. A b
// that is so large that b - 1 is rounded, to b or to b - 2, is even, so the power of a negative a
// is negative.
Expr pow_derivative_in_a(const Expr &a, const Expr &b) {
    const Expr divided = b < 0.5_r && b > math::lowest() && a != 0_r && a < math::highest() &&
                         a > math::lowest();
    const Expr less = strict_float(b - 1_r);
    const Expr power = pow(a, select(divided, b, less));
    const Expr step = strict_float(b - less);
    const Expr is_negative = a < 0_r && !divided && (step == 0_r || step == 2_r);
    const Expr derivative = strict_float(b * select(is_negative, -power, power));
    return select(b == 0_r, 0_r, divided, strict_float(derivative / a), derivative);
}
double pow_derivative_in_a(double a, double b) {
    constexpr double even = 0x1p53;  // as all numbers beyond it are; b - 1 may be rounded there
    const bool b_is_integer = b == std::floor(b);
    if (b == 0) return 0;
    if (a < 0 && std::isfinite(a) && !b_is_integer) return NAN;
    if (a < 0 && std::fabs(b) >= even && std::isfinite(b)) return b * -std::pow(-a, b);
    return b * std::pow(a, b - 1);
}
Expr pow_derivative_in_b(const Expr &a, const Expr &b) {
    return select(a == 0_r && b >= 0_r, 0_r, pow(a, b) * log(a));
}
double pow_derivative_in_b(double a, double b) {
    return a == 0 && b >= 0 ? 0 : std::pow(a, b) * std::log(a);
}

double floor_mod(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// References for integers. The quotient and the remainder of b = 0 are 0.
int64_t integer_floor_div(int64_t a, int64_t b) {
    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t integer_floor_mod(int64_t a, int64_t b) {
    return b == 0 ? 0 : a - integer_floor_div(a, b) * b;
}
int64_t integer_pow(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t y = 1;  // wraps
    for (int64_t k = 0; k < b; k++)
        y *= uint64_t(a);
    return int64_t(y);
}

// Returns dy b / (a^2 + b^2), the gradient of the angle in a. Both sides are divided by the larger
// one first, because a square may overflow or underflow.
Expr atan2_gradient(const Expr &a, const Expr &b, const Expr &dy) {
    // Compares x as it is loaded: LLVM assumes that abs(x) is finite.
    const auto infinite = [](const Expr &x) { return x == math::highest() || x == math::lowest(); };
    const Expr longest = max(abs(a), abs(b));
    const Expr m = select(infinite(a) || infinite(b), 1_r, longest);
    const Expr u = strict_float(a / m);
    const Expr v = strict_float(b / m);
    return strict_float(dy * (v / (u * u + v * v)) / m);
}

// Returns -dy a / b^2, the gradient of a / b in b. A quotient may overflow where the other factor
// is 0; the gradient is 0 there.
Expr div_gradient_in_b(const Expr &a, const Expr &b, const Expr &dy) {
    const Expr vanishes = a == 0_r || dy == 0_r;
    const Expr numerator = math::negative(select(vanishes, strict_float(dy * a), dy));
    return strict_float(numerator / b * (select(vanishes, 0_r, a) / b));
}

// A gradient that is dy itself, or 0, needs no kernel: primitives/gradients/elementwise.cpp.
const BinarySpec arithmetic[] = {
    {.name = "add",
     .doc = "y = a + b",
     .ulps = 0.5,
     .fn = [](Expr a, Expr b) { return a + b; },
     .reference = [](double a, double b) { return a + b; },
     .dtypes = numbers},
    {.name = "sub",
     .doc = "y = a - b",
     .ulps = 0.5,
     .fn = [](Expr a, Expr b) { return a - b; },
     .reference = [](double a, double b) { return a - b; },
     .db = [](Expr, Expr, Expr dy) { return math::negative(dy); },
     .db_reference = [](double, double, double dy) { return -dy; },
     .gradient_ulps = 0,
     .other_names = {"subtract"},
     .dtypes = numbers},
    {.name = "mul",
     .doc = "y = a * b",
     .ulps = 0.5,
     .fn = [](Expr a, Expr b) { return a * b; },
     .reference = [](double a, double b) { return a * b; },
     .da_saves = "b",
     .da = [](Expr, Expr b, Expr dy) { return dy * b; },
     .da_reference = [](double, double b, double dy) { return dy * b; },
     .db_saves = "a",
     .db = [](Expr a, Expr, Expr dy) { return dy * a; },
     .db_reference = [](double a, double, double dy) { return dy * a; },
     .gradient_ulps = 0.5,
     .other_names = {"multiply"},
     .dtypes = numbers},
    {.name = "div",
     .doc = "y = a / b",
     .ulps = 0.5,
     .fn = [](Expr a, Expr b) { return a / b; },
     .reference = [](double a, double b) { return a / b; },
     .da_saves = "b",
     .da = [](Expr, Expr b, Expr dy) { return dy / b; },
     .da_reference = [](double, double b, double dy) { return dy / b; },
     .db_saves = "ab",
     .db = [](Expr a, Expr b, Expr dy) { return div_gradient_in_b(a, b, dy); },
     .db_reference = [](double a, double b, double dy) { return -dy / b * (a / b); },
     .other_names = {"divide", "true_divide"}},
    {.name = "floor_div",
     .doc = "y = floor(a / b); of integers, 0 where b is 0",
     .ulps = 0.5,
     .fn = math::floor_div,
     .reference = [](double a, double b) { return std::floor(a / b); },
     .integer_reference = integer_floor_div,
     .other_names = {"floor_divide"},
     .dtypes = numbers},
    {.name = "floor_mod",
     .doc = "y = a - floor(a / b) * b, of b's sign; of integers, 0 where b is 0",
     .ulps = 0.5,
     .fn = math::floor_mod,
     .reference = floor_mod,
     .db_saves = "ab",
     .db = [](Expr a, Expr b, Expr dy) { return math::negative(dy) * math::floor_div(a, b); },
     .db_reference = [](double a, double b, double dy) { return -dy * std::floor(a / b); },
     .gradient_ulps = 1.5,
     .integer_reference = integer_floor_mod,
     .other_names = {"remainder"},
     .dtypes = numbers},
    {.name = "mod",
     .doc = "y = a - trunc(a / b) * b, of a's sign (MindSpore's Mod; NumPy's mod is "
            "floor_mod); of integers, 0 where b is 0",
     .ulps = 0,
     .fn =
         [](Expr a, Expr b) {
             return math::call("mod", {a, b});
         },
     .reference = [](double a, double b) { return std::fmod(a, b); },
     .db_saves = "ab",
     .db =
         [](Expr a, Expr b, Expr dy) {
             return math::negative(dy) * math::call("trunc_div", {a, b});
         },
     .db_reference = [](double a, double b, double dy) { return -dy * std::trunc(a / b); },
     .gradient_ulps = 1.5,
     .integer_reference = [](int64_t a, int64_t b) -> int64_t { return b == 0 ? 0 : a % b; },
     .other_names = {"fmod"},
     .dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"}},
    {.name = "pow",
     .doc = "y = a^b; of integers, a negative power is 0 unless a is 1 or -1",
     .ulps = 4,
     .fn = [](Expr a, Expr b) -> Expr { return pow(a, b); },
     .reference = [](double a, double b) { return std::pow(a, b); },
     .da_saves = "ab",
     .da = [](Expr a, Expr b, Expr dy) { return dy * pow_derivative_in_a(a, b); },
     .da_reference = [](double a, double b, double dy) { return dy * pow_derivative_in_a(a, b); },
     .db_saves = "ab",
     .db = [](Expr a, Expr b, Expr dy) { return dy * pow_derivative_in_b(a, b); },
     .db_reference = [](double a, double b, double dy) { return dy * pow_derivative_in_b(a, b); },
     .gradient_ulps = 16,
     .integer_reference = integer_pow,
     .functional = "tensor_pow",
     .other_names = {"power"},
     .dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"}},
    {.name = "maximum",
     .doc = "y = max(a, b); NaN if either is",
     .ulps = 0,
     .fn = [](Expr a, Expr b) -> Expr { return max(a, b); },
     .reference = [](double a, double b) { return a > b || std::isnan(a) ? a : b; },
     .da_saves = "ab",
     .da = [](Expr a, Expr b, Expr dy) { return maximum_gradient(a, b, dy); },
     .da_reference = [](double a, double b, double dy) { return maximum_gradient(a, b, dy); },
     .db_saves = "ab",
     .db = [](Expr a, Expr b, Expr dy) { return maximum_gradient(b, a, dy); },
     .db_reference = [](double a, double b, double dy) { return maximum_gradient(b, a, dy); },
     .gradient_ulps = 0.5,
     .dtypes = numbers},
    {.name = "minimum",
     .doc = "y = min(a, b); NaN if either is",
     .ulps = 0,
     .fn = [](Expr a, Expr b) -> Expr { return min(a, b); },
     .reference = [](double a, double b) { return a < b || std::isnan(a) ? a : b; },
     .da_saves = "ab",
     .da = [](Expr a, Expr b, Expr dy) { return maximum_gradient(b, a, dy); },
     .da_reference = [](double a, double b, double dy) { return maximum_gradient(b, a, dy); },
     .db_saves = "ab",
     .db = [](Expr a, Expr b, Expr dy) { return maximum_gradient(a, b, dy); },
     .db_reference = [](double a, double b, double dy) { return maximum_gradient(a, b, dy); },
     .gradient_ulps = 0.5,
     .dtypes = numbers},
    {.name = "squared_difference",
     .doc = "y = (a - b)^2",
     .ulps = 2,
     .fn = [](Expr a, Expr b) { return (a - b) * (a - b); },
     .reference = [](double a, double b) { return (a - b) * (a - b); },
     .da_saves = "ab",
     .da = [](Expr a, Expr b, Expr dy) { return 2_r * (a - b) * dy; },
     .da_reference = [](double a, double b, double dy) { return 2 * (a - b) * dy; },
     .db_saves = "ab",
     .db = [](Expr a, Expr b, Expr dy) { return 2_r * (b - a) * dy; },
     .db_reference = [](double a, double b, double dy) { return 2 * (b - a) * dy; },
     .gradient_ulps = 2,
     .dtypes = numbers},
    {.name = "atan2",
     .doc = "y = the angle of the point (b, a), in (-pi, pi]",
     .ulps = 4,
     .fn = [](Expr a, Expr b) -> Expr { return atan2(a, b); },
     .reference = [](double a, double b) { return std::atan2(a, b); },
     .da_saves = "ab",
     .da = [](Expr a, Expr b, Expr dy) { return atan2_gradient(a, b, dy); },
     .da_reference = [](double a, double b, double dy) { return dy * b / (a * a + b * b); },
     .db_saves = "ab",
     .db = [](Expr a, Expr b, Expr dy) { return atan2_gradient(b, a, math::negative(dy)); },
     .db_reference = [](double a, double b, double dy) { return -dy * a / (a * a + b * b); },
     .other_names = {"arctan2"}},
};

BinarySpec comparison(const char *name, const char *doc, Expr (*fn)(Expr, Expr),
                      double (*reference)(double, double),
                      const std::vector<std::string> &other_names = {}) {
    return {.name = name,
            .doc = doc,
            .ulps = 0,
            .fn = fn,
            .reference = reference,
            .other_names = other_names,
            .dtypes = all_dtypes,
            .to_bool = true};
}

const BinarySpec comparisons[] = {
    comparison(
        "equal", "y = a == b; false if either is NaN", [](Expr a, Expr b) { return a == b; },
        [](double a, double b) -> double { return a == b; }, {"eq"}),
    comparison(
        "not_equal", "y = a != b; true if either is NaN", [](Expr a, Expr b) { return a != b; },
        [](double a, double b) -> double { return a != b; }, {"ne"}),
    comparison(
        "less", "y = a < b; false if either is NaN", [](Expr a, Expr b) { return a < b; },
        [](double a, double b) -> double { return a < b; }, {"lt"}),
    comparison(
        "less_equal", "y = a <= b; false if either is NaN", [](Expr a, Expr b) { return a <= b; },
        [](double a, double b) -> double { return a <= b; }, {"le"}),
    comparison(
        "greater", "y = a > b; false if either is NaN", [](Expr a, Expr b) { return a > b; },
        [](double a, double b) -> double { return a > b; }, {"gt"}),
    comparison(
        "greater_equal", "y = a >= b; false if either is NaN",
        [](Expr a, Expr b) { return a >= b; }, [](double a, double b) -> double { return a >= b; },
        {"ge"}),
    comparison(
        "logical_and", "y = a and b; what isn't 0 is true",
        [](Expr a, Expr b) { return a != 0_r && b != 0_r; },
        [](double a, double b) -> double { return a != 0 && b != 0; }),
    comparison(
        "logical_xor", "y = one of a and b, not both; what isn't 0 is true",
        [](Expr a, Expr b) { return (a != 0_r) != (b != 0_r); },
        [](double a, double b) -> double { return (a != 0) != (b != 0); }),
    comparison(
        "logical_or", "y = a or b; what isn't 0 is true",
        [](Expr a, Expr b) { return a != 0_r || b != 0_r; },
        [](double a, double b) -> double { return a != 0 || b != 0; }),
};

int64_t left_shift(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : int64_t(uint64_t(a) << b);
}
int64_t right_shift(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
}

// Functions of integers only.
BinarySpec bit_operation(const char *name, const char *doc, Expr (*fn)(Expr, Expr),
                         int64_t (*reference)(int64_t, int64_t), const char *functional = "") {
    return {.name = name,
            .doc = doc,
            .ulps = 0,
            .fn = fn,
            .reference = nullptr,
            .integer_reference = reference,
            .functional = functional,
            .dtypes = integers};
}

const BinarySpec bits[] = {
    bit_operation(
        "bitwise_and", "y = the bits set in both a and b",
        [](Expr a, Expr b) {
            return math::call("bitwise_and", {a, b});
        },
        [](int64_t a, int64_t b) { return a & b; }),
    bit_operation(
        "bitwise_or", "y = the bits set in a or b",
        [](Expr a, Expr b) {
            return math::call("bitwise_or", {a, b});
        },
        [](int64_t a, int64_t b) { return a | b; }),
    bit_operation(
        "bitwise_xor", "y = the bits set in one of a and b",
        [](Expr a, Expr b) {
            return math::call("bitwise_xor", {a, b});
        },
        [](int64_t a, int64_t b) { return a ^ b; }),
    bit_operation(
        "left_shift", "y = a shifted left by b bits; 0 where b isn't in [0, bits of a)",
        [](Expr a, Expr b) {
            return math::call("left_shift", {a, b});
        },
        left_shift, "bitwise_left_shift"),
    bit_operation(
        "right_shift",
        "y = a shifted right by b bits, with copies of its sign; only these where b isn't in [0, "
        "bits of "
        "a)",
        [](Expr a, Expr b) {
            return math::call("right_shift", {a, b});
        },
        right_shift, "bitwise_right_shift"),
};

}  // namespace

HALYARD_OPS {
    add_binary(ops, arithmetic);
    add_binary(ops, comparisons);
    add_binary(ops, bits);
}

}  // namespace halyard
