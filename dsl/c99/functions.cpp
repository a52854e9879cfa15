#include "dsl/c99/functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace halyard::c99 {
namespace {

using namespace Halide;
using namespace Halide::Internal;

constexpr const char *prefix = "c99_";

// Functions of C's library; those of f32 end with f.
constexpr std::array library_functions = {
    "acos",  "acosh", "asin", "asinh", "atan",  "atan2", "atanh", "ceil", "cos",  "cosh",
    "erf",   "erfc",  "exp",  "exp2",  "expm1", "fabs",  "floor", "fmod", "log",  "log10",
    "log1p", "log2",  "pow",  "rint",  "sin",   "sinh",  "sqrt",  "tan",  "tanh", "trunc"};

// Those with another name in the kit.
const std::map<std::string, std::string> other_names = {
    {"exp_nonpositive", "exp"}, {"mod", "fmod"}, {"round", "rint"}};

struct Helper {
    const char *name;
    std::vector<const char *> calls;  // other helpers
    const char *text;
};

// The helpers, each after those that it calls. Functions of f32 whose formula would lose digits in
// f32 are computed in double.
const std::vector<Helper> helpers = {
    {"hy_minf", {}, R"(static float hy_minf(float a, float b) {
    return a < b || a != a ? a : b;
}
)"},
    {"hy_maxf", {}, R"(static float hy_maxf(float a, float b) {
    return a > b || a != a ? a : b;
}
)"},
    {"hy_min", {}, R"(static double hy_min(double a, double b) {
    return a < b || a != a ? a : b;
}
)"},
    {"hy_max", {}, R"(static double hy_max(double a, double b) {
    return a > b || a != a ? a : b;
}
)"},
    {"hy_min_i32", {}, R"(static int32_t hy_min_i32(int32_t a, int32_t b) {
    return a < b ? a : b;
}
)"},
    {"hy_max_i32", {}, R"(static int32_t hy_max_i32(int32_t a, int32_t b) {
    return a > b ? a : b;
}
)"},
    {"hy_min_u32", {}, R"(static uint32_t hy_min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}
)"},
    {"hy_max_u32", {}, R"(static uint32_t hy_max_u32(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}
)"},
    {"hy_min_i64", {}, R"(static int64_t hy_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}
)"},
    {"hy_max_i64", {}, R"(static int64_t hy_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}
)"},
    {"hy_min_u64", {}, R"(static uint64_t hy_min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}
)"},
    {"hy_max_u64", {}, R"(static uint64_t hy_max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}
)"},
    // Sums and products of elements wrap.
    {"hy_add_i32", {}, R"(static int32_t hy_add_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}
)"},
    {"hy_sub_i32", {}, R"(static int32_t hy_sub_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a - (uint32_t)b);
}
)"},
    {"hy_mul_i32", {}, R"(static int32_t hy_mul_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a * (uint32_t)b);
}
)"},
    {"hy_add_i64", {}, R"(static int64_t hy_add_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
)"},
    {"hy_sub_i64", {}, R"(static int64_t hy_sub_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
)"},
    {"hy_mul_i64", {}, R"(static int64_t hy_mul_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
)"},
    {"hy_div_i32", {}, R"(/* The remainder is never negative; division by 0 gives 0. */
static int32_t hy_div_i32(int32_t a, int32_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int32_t)(0u - (uint32_t)a);
    return a % b < 0 ? a / b - (b < 0 ? -1 : 1) : a / b;
}
)"},
    {"hy_mod_i32", {}, R"(static int32_t hy_mod_i32(int32_t a, int32_t b) {
    if (b == 0 || b == -1) return 0;
    return a % b < 0 ? (b < 0 ? a % b - b : a % b + b) : a % b;
}
)"},
    {"hy_div_i64", {}, R"(/* The remainder is never negative; division by 0 gives 0. */
static int64_t hy_div_i64(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(UINT64_C(0) - (uint64_t)a);
    return a % b < 0 ? a / b - (b < 0 ? -1 : 1) : a / b;
}
)"},
    {"hy_mod_i64", {}, R"(static int64_t hy_mod_i64(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    return a % b < 0 ? (b < 0 ? a % b - b : a % b + b) : a % b;
}
)"},
    {"hy_div_u32", {}, R"(static uint32_t hy_div_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a / b;
}
)"},
    {"hy_mod_u32", {}, R"(static uint32_t hy_mod_u32(uint32_t a, uint32_t b) {
    return b == 0 ? 0 : a % b;
}
)"},
    {"hy_div_u64", {}, R"(static uint64_t hy_div_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a / b;
}
)"},
    {"hy_mod_u64", {}, R"(static uint64_t hy_mod_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a % b;
}
)"},
    {"hy_shift_right_i32", {}, R"(/* Copies of the sign come in. */
static int32_t hy_shift_right_i32(int32_t a, int32_t count) {
    return a < 0 ? ~(~a >> count) : a >> count;
}
)"},
    {"hy_shift_right_i64", {}, R"(/* Copies of the sign come in. */
static int64_t hy_shift_right_i64(int64_t a, int64_t count) {
    return a < 0 ? ~(~a >> count) : a >> count;
}
)"},
    {"hy_abs_i32", {}, R"(static uint32_t hy_abs_i32(int32_t a) {
    return a < 0 ? 0u - (uint32_t)a : (uint32_t)a;
}
)"},
    {"hy_abs_i64", {}, R"(static uint64_t hy_abs_i64(int64_t a) {
    return a < 0 ? UINT64_C(0) - (uint64_t)a : (uint64_t)a;
}
)"},
    // Conversions of floats to integers saturate, and NaN becomes 0.
    {"hy_to_i8", {}, R"(static int8_t hy_to_i8(double x) {
    if (x != x) return 0;
    return x <= -128.0 ? INT8_MIN : x >= 127.0 ? INT8_MAX : (int8_t)x;
}
)"},
    {"hy_to_u8", {}, R"(static uint8_t hy_to_u8(double x) {
    if (x != x) return 0;
    return x <= 0.0 ? 0 : x >= 255.0 ? UINT8_MAX : (uint8_t)x;
}
)"},
    {"hy_to_i32", {}, R"(static int32_t hy_to_i32(double x) {
    if (x != x) return 0;
    return x <= -2147483648.0 ? INT32_MIN : x >= 2147483647.0 ? INT32_MAX : (int32_t)x;
}
)"},
    {"hy_to_u32", {}, R"(static uint32_t hy_to_u32(double x) {
    if (x != x) return 0;
    return x <= 0.0 ? 0 : x >= 4294967295.0 ? UINT32_MAX : (uint32_t)x;
}
)"},
    {"hy_to_i64", {}, R"(static int64_t hy_to_i64(double x) {
    if (x != x) return 0;
    return x <= -9223372036854775808.0  ? INT64_MIN
           : x >= 9223372036854775808.0 ? INT64_MAX
                                        : (int64_t)x;
}
)"},
    {"hy_to_u64", {}, R"(static uint64_t hy_to_u64(double x) {
    if (x != x) return 0;
    return x <= 0.0 ? 0 : x >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x;
}
)"},
    {"hy_bits_of_f32", {}, R"(static uint32_t hy_bits_of_f32(float x) {
    union {
        float x;
        uint32_t bits;
    } u;
    u.x = x;
    return u.bits;
}
)"},
    {"hy_f32_of_bits", {}, R"(static float hy_f32_of_bits(uint32_t bits) {
    union {
        float x;
        uint32_t bits;
    } u;
    u.bits = bits;
    return u.x;
}
)"},
    {"hy_bits_of_f64", {}, R"(static uint64_t hy_bits_of_f64(double x) {
    union {
        double x;
        uint64_t bits;
    } u;
    u.x = x;
    return u.bits;
}
)"},
    {"hy_f64_of_bits", {}, R"(static double hy_f64_of_bits(uint64_t bits) {
    union {
        double x;
        uint64_t bits;
    } u;
    u.bits = bits;
    return u.x;
}
)"},
    {"hy_f32_of_f16", {"hy_f32_of_bits"}, R"(static float hy_f32_of_f16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t exponent = (h >> 10) & 31;
    const uint32_t fraction = h & 1023;
    if (exponent == 31) return hy_f32_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent > 0) return hy_f32_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    return (sign ? -1.0f : 1.0f) * (float)fraction * 0x1p-24f;
}
)"},
    {"hy_f16_of", {}, R"(/* Rounds once, half to even. */
static uint16_t hy_f16_of(double x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double a = fabs(x);
    int exponent;
    if (x != x) return 0x7e00;
    if (a == 0) return sign;
    if (a >= 65520.0) return (uint16_t)(sign | 0x7c00);
    (void)frexp(a, &exponent);
    exponent = exponent - 1 < -14 ? -14 : exponent - 1;
    return (uint16_t)(sign + ((exponent + 14) << 10) + (int)rint(ldexp(a, 10 - exponent)));
}
)"},
    {"hy_f32_of_bf16", {"hy_f32_of_bits"}, R"(static float hy_f32_of_bf16(uint16_t h) {
    return hy_f32_of_bits((uint32_t)h << 16);
}
)"},
    {"hy_bf16_of", {}, R"(/* Rounds once, half to even. */
static uint16_t hy_bf16_of(double x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double a = fabs(x);
    int exponent;
    if (x != x) return 0x7fc0;
    if (a == 0) return sign;
    if (a >= 0x1.ffp127) return (uint16_t)(sign | 0x7f80);
    (void)frexp(a, &exponent);
    exponent = exponent - 1 < -126 ? -126 : exponent - 1;
    return (uint16_t)(sign + ((exponent + 126) << 7) + (int)rint(ldexp(a, 7 - exponent)));
}
)"},
    {"hy_odd_of_i64", {}, R"(/* Beyond 2^52 one bit stands for those that are cut off, so that the
 * next rounding is right. */
static double hy_odd_of_i64(int64_t x) {
    if (x < INT64_C(1) << 52 && x > -(INT64_C(1) << 52)) return (double)x;
    return (double)((x & ~INT64_C(0xfff)) | (x & INT64_C(0xfff) ? INT64_C(0x800) : 0));
}
)"},
    {"hy_pow_i32", {}, R"(/* Powers wrap; a negative power is the reciprocal, rounded towards 0. */
static int32_t hy_pow_i32(int32_t a, int32_t b) {
    uint32_t y = 1, square = (uint32_t)a;
    if (b < 0) return a == 1 ? 1 : a != -1 ? 0 : b % 2 == 0 ? 1 : -1;
    for (; b > 0; b >>= 1, square *= square)
        if (b & 1) y *= square;
    return (int32_t)y;
}
)"},
    {"hy_pow_i64", {}, R"(/* Powers wrap; a negative power is the reciprocal, rounded towards 0. */
static int64_t hy_pow_i64(int64_t a, int64_t b) {
    uint64_t y = 1, square = (uint64_t)a;
    if (b < 0) return a == 1 ? 1 : a != -1 ? 0 : b % 2 == 0 ? 1 : -1;
    for (; b > 0; b >>= 1, square *= square)
        if (b & 1) y *= square;
    return (int64_t)y;
}
)"},
    {"hy_floor_div_f32", {}, R"(static float hy_floor_div_f32(float a, float b) {
    return (float)floor((double)a / b);
}
)"},
    {"hy_trunc_div_f32", {}, R"(static float hy_trunc_div_f32(float a, float b) {
    return (float)trunc((double)a / b);
}
)"},
    {"hy_floor_mod_f32", {}, R"(static float hy_floor_mod_f32(float a, float b) {
    const float r = fmodf(a, b);
    return (r < 0 && b > 0) || (r > 0 && b < 0) ? r + b : r;
}
)"},
    {"hy_reciprocal_f32", {}, R"(static float hy_reciprocal_f32(float x) {
    return 1.0f / x;
}
)"},
    {"hy_rsqrt_f32", {}, R"(static float hy_rsqrt_f32(float x) {
    return (float)(1.0 / sqrt(x));
}
)"},
    {"hy_logistic", {}, R"(static double hy_logistic(double x) {
    const double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
)"},
    {"hy_sigmoid_f32", {}, R"(static float hy_sigmoid_f32(float x) {
    const float e = expf(-fabsf(x));
    return (x < 0 ? e : 1) / (1 + e);
}
)"},
    {"hy_silu_f32", {"hy_sigmoid_f32"}, R"(static float hy_silu_f32(float x) {
    return x < -800 ? -0.0f : x * hy_sigmoid_f32(x);
}
)"},
    {"hy_softplus_f32", {}, R"(static float hy_softplus_f32(float x) {
    return x != x ? x : (x > 0 ? x : 0) + log1pf(expf(-fabsf(x)));
}
)"},
    {"hy_logsigmoid_f32", {"hy_softplus_f32"}, R"(static float hy_logsigmoid_f32(float x) {
    return -hy_softplus_f32(-x);
}
)"},
    {"hy_mish_f32", {"hy_softplus_f32"}, R"(static float hy_mish_f32(float x) {
    return x < -800 ? -0.0f : x * tanhf(hy_softplus_f32(x));
}
)"},
    {"hy_gaussian_f32", {}, R"(static float hy_gaussian_f32(float x) {
    return (float)exp(-0.5 * x * x);
}
)"},
    {"hy_exp_minus_square_f32", {}, R"(static float hy_exp_minus_square_f32(float x) {
    return (float)exp(-1.0 * x * x);
}
)"},
    {"hy_gelu_f32", {}, R"(static float hy_gelu_f32(float x) {
    return x < -800 ? -0.0f : (float)(0.5 * x * erfc(-x * 0.70710678118654752));
}
)"},
    {"hy_gelu_tanh_f32", {"hy_logistic"}, R"(static float hy_gelu_tanh_f32(float x) {
    const double d = x;
    const double slope = 1.5957691216057308 + 0.07135481627260025 * d * d;
    return x < -800 ? -0.0f : (float)(d * hy_logistic(d * slope));
}
)"},
    {"hy_fast_gelu_f32", {"hy_logistic"}, R"(static float hy_fast_gelu_f32(float x) {
    return x < -800 ? -0.0f : (float)(x * hy_logistic(1.702 * x));
}
)"},
};

const Helper *helper(const std::string &name) {
    const auto at = std::ranges::find_if(helpers, [&](const Helper &h) { return h.name == name; });
    return at == helpers.end() ? nullptr : &*at;
}

void add_with_calls(const std::string &name, std::set<std::string> &all) {
    if (!all.insert(name).second) return;
    for (const char *called : helper(name)->calls)
        add_with_calls(called, all);
}

class NameFunctions : public IRMutator {
public:
    explicit NameFunctions(const Type &real) : real_(real) {}

private:
    using IRMutator::visit;
    const Type real_;

    Expr visit(const Call *op) override {
        const Expr e = IRMutator::visit(op);
        const auto *c = e.as<Call>();
        const bool of_reals = c && c->call_type == Call::PureExtern && c->type == Float(64) &&
                              ends_with(c->name, "_f64");
        if (of_reals && !real_.is_float() && c->name != "pow_f64") return e;
        if (!of_reals || starts_with(c->name, "floor_f") || starts_with(c->name, "ceil_f") ||
            starts_with(c->name, "trunc_f")) {
            return e;
        }
        return Call::make(c->type, prefix + c->name, c->args, c->call_type);
    }
};

}  // namespace

void name_functions(const std::vector<Func> &outputs, const Type &real) {
    if (real == Float(64)) return;
    NameFunctions names(real);
    std::vector<Function> roots;
    for (const Func &f : outputs)
        roots.push_back(f.function());
    for (auto &[name, f] : build_environment(roots))
        f.mutate(&names);
}

FunctionName function_called(const std::string &halide_name) {
    std::string name = halide_name;
    if (starts_with(name, prefix)) name.erase(0, std::string_view(prefix).size());
    if (helper("hy_" + name)) return {"hy_" + name, true};
    if (starts_with(name, "is_nan_f")) return {"isnan"};
    if (starts_with(name, "is_inf_f")) return {"isinf"};
    if (starts_with(name, "is_finite_f")) return {"isfinite"};
    const bool is_f32 = ends_with(name, "_f32");
    if (is_f32 || ends_with(name, "_f64")) name.resize(name.size() - 4);
    const auto other = other_names.find(name);
    if (other != other_names.end()) name = other->second;
    if (is_f32) name += "f";
    return is_library_function(name) ? FunctionName{name} : FunctionName{};
}

bool is_library_function(const std::string &name) {
    return std::ranges::any_of(library_functions,
                               [&](const std::string &f) { return name == f || name == f + "f"; });
}

std::string helper_texts(const std::set<std::string> &names) {
    std::set<std::string> all;
    for (const std::string &name : names)
        add_with_calls(name, all);
    std::string text;
    for (const Helper &h : helpers) {
        if (all.count(h.name)) text += std::string(text.empty() ? "" : "\n") + h.text;
    }
    return text;
}

}  // namespace halyard::c99
