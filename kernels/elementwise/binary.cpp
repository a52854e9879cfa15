// Elementwise functions of two tensors, with NumPy's broadcasting. One line each.
#include "dsl/dtypes.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

const std::vector<std::string> numbers = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
const std::vector<std::string> integers = {"i64", "i32", "i8", "u8"};

// The larger side gets the whole gradient; a tie gives each side half, as MindSpore does. A NaN
// belongs to no side.
Expr won(const Expr &mine, const Expr &other, const Expr &dy) {
    return select(mine > other, dy, select(mine == other, dy * 0.5_r, 0_r));
}
double won(double mine, double other, double dy) {
    return mine > other ? dy : mine == other ? dy * 0.5 : 0;
}

// b a^(b-1) and a^b log a, where the limits at b = 0 and a = 0 are 0. Below 1/2, b - 1 would be
// rounded: to a whole number, of which a negative a has powers, or by enough to be multiplied by
// log a. a^b / a can't overflow there where the result doesn't.
Expr pow_in_a(const Expr &a, const Expr &b) {
    const Expr divided = b < 0.5_r && a != 0_r && a < math::highest() && a > math::lowest();
    const Expr slope = strict_float(b * pow(a, select(divided, b, b - 1_r)));
    return select(b == 0_r, 0_r, divided, strict_float(slope / a), slope);
}
double pow_in_a(double a, double b) {
    const bool whole = b == std::floor(b);
    return b == 0 ? 0 : a < 0 && std::isfinite(a) && !whole ? NAN : b * std::pow(a, b - 1);
}
Expr pow_in_b(const Expr &a, const Expr &b) {
    return select(a == 0_r && b >= 0_r, 0_r, pow(a, b) * log(a));
}
double pow_in_b(double a, double b) {
    return a == 0 && b >= 0 ? 0 : std::pow(a, b) * std::log(a);
}

double floor_mod(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Of integers: 0 where b is 0.
int64_t whole_floor_div(int64_t a, int64_t b) {
    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t whole_floor_mod(int64_t a, int64_t b) {
    return b == 0 ? 0 : a - whole_floor_div(a, b) * b;
}
int64_t whole_pow(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t y = 1;  // wraps
    for (int64_t k = 0; k < b; k++)
        y *= uint64_t(a);
    return int64_t(y);
}

// b / (a^2 + b^2): the slope of the angle in a. Divided by the larger side first, since a square
// may overflow or vanish.
Expr atan2_slope(const Expr &a, const Expr &b, const Expr &dy) {
    // of x as loaded: LLVM takes abs(x) for finite
    const auto infinite = [](const Expr &x) { return x == math::highest() || x == math::lowest(); };
    const Expr longest = max(abs(a), abs(b));
    const Expr m = select(infinite(a) || infinite(b), 1_r, longest);
    const Expr u = strict_float(a / m);
    const Expr v = strict_float(b / m);
    return strict_float(dy * (v / (u * u + v * v)) / m);
}

void add_arithmetic(OpTable &ops) {
    // Where a gradient is dy itself, or nothing, there is no kernel of it:
    // primitives/gradients/elementwise.cpp.
    add_binary(ops, {.name = "add",
                     .doc = "y = a + b",
                     .ulps = 0.5,
                     .fn = [](Expr a, Expr b) { return a + b; },
                     .reference = [](double a, double b) { return a + b; },
                     .dtypes = numbers});
    add_binary(ops, {.name = "sub",
                     .doc = "y = a - b",
                     .ulps = 0.5,
                     .fn = [](Expr a, Expr b) { return a - b; },
                     .reference = [](double a, double b) { return a - b; },
                     .db = [](Expr, Expr, Expr dy) { return math::negative(dy); },
                     .db_reference = [](double, double, double dy) { return -dy; },
                     .dulps = 0,
                     .other_names = {"subtract"},
                     .dtypes = numbers});
    add_binary(ops, {.name = "mul",
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
                     .dulps = 0.5,
                     .other_names = {"multiply"},
                     .dtypes = numbers});
    add_binary(ops,
               {.name = "div",
                .doc = "y = a / b",
                .ulps = 0.5,
                .fn = [](Expr a, Expr b) { return a / b; },
                .reference = [](double a, double b) { return a / b; },
                .da_saves = "b",
                .da = [](Expr, Expr b, Expr dy) { return dy / b; },
                .da_reference = [](double, double b, double dy) { return dy / b; },
                .db_saves = "ab",
                .db = [](Expr a, Expr b, Expr dy) { return math::negative(dy) / b * (a / b); },
                .db_reference = [](double a, double b, double dy) { return -dy / b * (a / b); },
                .other_names = {"divide", "true_divide"}});
    add_binary(ops, {.name = "floor_div",
                     .doc = "y = floor(a / b); of integers, 0 where b is 0",
                     .ulps = 0.5,
                     .fn = math::floor_div,
                     .reference = [](double a, double b) { return std::floor(a / b); },
                     .integer_reference = whole_floor_div,
                     .other_names = {"floor_divide"},
                     .dtypes = numbers});
    add_binary(
        ops,
        {.name = "floor_mod",
         .doc = "y = a - floor(a / b) * b, of b's sign; of integers, 0 where b is 0",
         .ulps = 0.5,
         .fn = math::floor_mod,
         .reference = floor_mod,
         .db_saves = "ab",
         .db = [](Expr a, Expr b, Expr dy) { return math::negative(dy) * math::floor_div(a, b); },
         .db_reference = [](double a, double b, double dy) { return -dy * std::floor(a / b); },
         .dulps = 1.5,
         .integer_reference = whole_floor_mod,
         .other_names = {"remainder"},
         .dtypes = numbers});
    add_binary(
        ops,
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
         .dulps = 1.5,
         .integer_reference = [](int64_t a, int64_t b) -> int64_t { return b == 0 ? 0 : a % b; },
         .other_names = {"fmod"},
         .dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"}});
    add_binary(ops,
               {.name = "pow",
                .doc = "y = a^b; of integers, a negative power is 0 unless a is 1 or -1",
                .ulps = 4,
                .fn = [](Expr a, Expr b) -> Expr { return pow(a, b); },
                .reference = [](double a, double b) { return std::pow(a, b); },
                .da_saves = "ab",
                .da = [](Expr a, Expr b, Expr dy) { return dy * pow_in_a(a, b); },
                .da_reference = [](double a, double b, double dy) { return dy * pow_in_a(a, b); },
                .db_saves = "ab",
                .db = [](Expr a, Expr b, Expr dy) { return dy * pow_in_b(a, b); },
                .db_reference = [](double a, double b, double dy) { return dy * pow_in_b(a, b); },
                .dulps = 16,
                .integer_reference = whole_pow,
                .functional = "tensor_pow",
                .other_names = {"power"},
                .dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"}});
    add_binary(ops, {.name = "maximum",
                     .doc = "y = max(a, b); NaN if either is",
                     .ulps = 0,
                     .fn = [](Expr a, Expr b) -> Expr { return max(a, b); },
                     .reference = [](double a, double b) { return a > b || std::isnan(a) ? a : b; },
                     .da_saves = "ab",
                     .da = [](Expr a, Expr b, Expr dy) { return won(a, b, dy); },
                     .da_reference = [](double a, double b, double dy) { return won(a, b, dy); },
                     .db_saves = "ab",
                     .db = [](Expr a, Expr b, Expr dy) { return won(b, a, dy); },
                     .db_reference = [](double a, double b, double dy) { return won(b, a, dy); },
                     .dulps = 0.5,
                     .dtypes = numbers});
    add_binary(ops, {.name = "minimum",
                     .doc = "y = min(a, b); NaN if either is",
                     .ulps = 0,
                     .fn = [](Expr a, Expr b) -> Expr { return min(a, b); },
                     .reference = [](double a, double b) { return a < b || std::isnan(a) ? a : b; },
                     .da_saves = "ab",
                     .da = [](Expr a, Expr b, Expr dy) { return won(b, a, dy); },
                     .da_reference = [](double a, double b, double dy) { return won(b, a, dy); },
                     .db_saves = "ab",
                     .db = [](Expr a, Expr b, Expr dy) { return won(a, b, dy); },
                     .db_reference = [](double a, double b, double dy) { return won(a, b, dy); },
                     .dulps = 0.5,
                     .dtypes = numbers});
    add_binary(ops, {.name = "squared_difference",
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
                     .dulps = 2,
                     .dtypes = numbers});
    add_binary(
        ops,
        {.name = "atan2",
         .doc = "y = the angle of the point (b, a), in (-pi, pi]",
         .ulps = 4,
         .fn = [](Expr a, Expr b) -> Expr { return atan2(a, b); },
         .reference = [](double a, double b) { return std::atan2(a, b); },
         .da_saves = "ab",
         .da = [](Expr a, Expr b, Expr dy) { return atan2_slope(a, b, dy); },
         .da_reference = [](double a, double b, double dy) { return dy * b / (a * a + b * b); },
         .db_saves = "ab",
         .db = [](Expr a, Expr b, Expr dy) { return atan2_slope(b, a, math::negative(dy)); },
         .db_reference = [](double a, double b, double dy) { return -dy * a / (a * a + b * b); },
         .other_names = {"arctan2"}});
}

void add_comparisons(OpTable &ops) {
    auto line = [&](const char *name, const char *doc, Expr (*fn)(Expr, Expr),
                    double (*reference)(double, double),
                    const std::vector<std::string> &other_names = {}) {
        add_binary(ops, {.name = name,
                         .doc = doc,
                         .ulps = 0,
                         .fn = fn,
                         .reference = reference,
                         .other_names = other_names,
                         .dtypes = all_dtypes,
                         .to_bool = true});
    };
    line(
        "equal", "y = a == b; false beside NaN", [](Expr a, Expr b) { return a == b; },
        [](double a, double b) -> double { return a == b; }, {"eq"});
    line(
        "not_equal", "y = a != b; true beside NaN", [](Expr a, Expr b) { return a != b; },
        [](double a, double b) -> double { return a != b; }, {"ne"});
    line(
        "less", "y = a < b; false beside NaN", [](Expr a, Expr b) { return a < b; },
        [](double a, double b) -> double { return a < b; }, {"lt"});
    line(
        "less_equal", "y = a <= b; false beside NaN", [](Expr a, Expr b) { return a <= b; },
        [](double a, double b) -> double { return a <= b; }, {"le"});
    line(
        "greater", "y = a > b; false beside NaN", [](Expr a, Expr b) { return a > b; },
        [](double a, double b) -> double { return a > b; }, {"gt"});
    line(
        "greater_equal", "y = a >= b; false beside NaN", [](Expr a, Expr b) { return a >= b; },
        [](double a, double b) -> double { return a >= b; }, {"ge"});
    line(
        "logical_and", "y = a and b; what isn't 0 is true",
        [](Expr a, Expr b) { return a != 0_r && b != 0_r; },
        [](double a, double b) -> double { return a != 0 && b != 0; });
    line(
        "logical_xor", "y = one of a and b, not both; what isn't 0 is true",
        [](Expr a, Expr b) { return (a != 0_r) != (b != 0_r); },
        [](double a, double b) -> double { return (a != 0) != (b != 0); });
    line(
        "logical_or", "y = a or b; what isn't 0 is true",
        [](Expr a, Expr b) { return a != 0_r || b != 0_r; },
        [](double a, double b) -> double { return a != 0 || b != 0; });
}

int64_t left_shift(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : int64_t(uint64_t(a) << b);
}
int64_t right_shift(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
}

// Of integers only.
void add_bits(OpTable &ops) {
    auto line = [&](const char *name, const char *doc, Expr (*fn)(Expr, Expr),
                    int64_t (*reference)(int64_t, int64_t), const char *functional = "") {
        add_binary(ops, {.name = name,
                         .doc = doc,
                         .ulps = 0,
                         .fn = fn,
                         .reference = nullptr,
                         .integer_reference = reference,
                         .functional = functional,
                         .dtypes = integers});
    };
    line(
        "bitwise_and", "y = the bits set in both a and b",
        [](Expr a, Expr b) {
            return math::call("bitwise_and", {a, b});
        },
        [](int64_t a, int64_t b) { return a & b; });
    line(
        "bitwise_or", "y = the bits set in a or b",
        [](Expr a, Expr b) {
            return math::call("bitwise_or", {a, b});
        },
        [](int64_t a, int64_t b) { return a | b; });
    line(
        "bitwise_xor", "y = the bits set in one of a and b",
        [](Expr a, Expr b) {
            return math::call("bitwise_xor", {a, b});
        },
        [](int64_t a, int64_t b) { return a ^ b; });
    line(
        "left_shift", "y = a moved b bits up; 0 where b isn't in [0, bits of a)",
        [](Expr a, Expr b) {
            return math::call("left_shift", {a, b});
        },
        left_shift, "bitwise_left_shift");
    line(
        "right_shift",
        "y = a moved b bits down, with copies of its sign; only these where b isn't in [0, bits of "
        "a)",
        [](Expr a, Expr b) {
            return math::call("right_shift", {a, b});
        },
        right_shift, "bitwise_right_shift");
}

}  // namespace

HALYARD_OPS {
    add_arithmetic(ops);
    add_comparisons(ops);
    add_bits(ops);
}

}  // namespace halyard
