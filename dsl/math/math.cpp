#include "dsl/math/math.h"

#include <map>

#include "dsl/ascend/math.h"
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

Expr sqrt_f32(const Expr &x) {
    return select(is_nan(x), x, sqrt(x));
}
Expr reciprocal_f32(const Expr &x) {
    return over(num(1), x);
}

const std::map<std::string, Expr (*)(const Expr &)> own_f32 = {
    {"acos", acos_f32},
    {"acosh", acosh_f32},
    {"asin", asin_f32},
    {"asinh", asinh_f32},
    {"atan", atan_f32},
    {"atanh", atanh_f32},
    {"cos", cos_f32},
    {"cosh", cosh_f32},
    {"erf", erf_f32},
    {"erfc", erfc_f32},
    {"exp", exp_f32},
    {"exp2", exp2_f32},
    {"exp_nonpositive", exp_nonpositive_f32},
    {"exp_minus_square", exp_minus_square_f32},
    {"expm1", expm1_f32},
    {"fast_gelu", fast_gelu_f32},
    {"gaussian", gaussian_f32},
    {"gelu", gelu_f32},
    {"gelu_tanh", gelu_tanh_f32},
    {"log", log_f32},
    {"log10", log10_f32},
    {"log1p", log1p_f32},
    {"log2", log2_f32},
    {"logsigmoid", logsigmoid_f32},
    {"mish", mish_f32},
    {"reciprocal", reciprocal_f32},
    {"rsqrt", rsqrt_f32},
    {"sigmoid", sigmoid_f32},
    {"silu", silu_f32},
    {"sin", sin_f32},
    {"sinh", sinh_f32},
    {"softplus", softplus_f32},
    {"sqrt", sqrt_f32},
    {"tan", tan_f32},
    {"tanh", tanh_f32},
};
const std::map<std::string, Expr (*)(const Expr &)> own_f64 = {
    {"fast_gelu", fast_gelu_f64},
    {"gelu", gelu_f64},
    {"gelu_tanh", gelu_tanh_f64},
};

Expr external(const std::string &name, const std::vector<Expr> &args) {
    return Internal::Call::make(args[0].type(), name, args, Internal::Call::PureExtern);
}
// Rounds half to even. Adding 2^23 (2^52 for f64) drops the fraction. Halide's round() is not used,
// because it converts to int32 on targets without an instruction.
Expr round_even(const Expr &x) {
    const bool is_f64 = x.type().bits() == 64;
    Expr limit = Internal::FloatImm::make(x.type(), is_f64 ? 0x1p52 : 0x1p23);
    Expr a = abs(x);
    Expr y = minus(plus(a, limit), limit);
    const Type t = UInt(x.type().bits());
    Expr sign = reinterpret(t, x) & Internal::make_const(t, uint64_t(1) << (t.bits() - 1));
    Expr is_integer = reinterpret(t, a) >=
                      Internal::make_const(t, is_f64 ? 0x4330000000000000u : 0x4b000000u);
    return select(is_integer, x, reinterpret(x.type(), reinterpret(t, y) | sign));
}
// Returns a call of the device's function: for f64, exp_f64, which Halide maps to libm. Functions
// that Halide does not map have libm's name.
Expr device(const std::string &name, const std::vector<Expr> &args) {
    const bool is_f64 = args[0].type().bits() == 64;
    if (name == "exp_nonpositive") return device("exp", args);
    if (!is_f64)
        if (Expr e = ascend::function(name, args); e.defined()) return e;
    if (is_f64 && (name == "exp2" || name == "expm1" || name == "log2" || name == "log10" ||
                   name == "log1p" || name == "erf" || name == "erfc"))
        return external(name, args);
    return external(name + (is_f64 ? "_f64" : "_f32"), args);
}

// Returns a function that the device lacks, composed of functions that it has. Each formula is
// accurate for negative and positive x. Returns an undefined Expr for any other name.
Expr composed(const std::string &name, const std::vector<Expr> &args) {
    const Expr &x = args[0];
    const Type t = x.type();
    if (t.bits() == 32)
        if (Expr e = ascend::function(name, args); e.defined()) return e;
    auto c = [&](double v) { return Internal::FloatImm::make(t, v); };
    auto f = [&](const char *n, const Expr &e) { return device(n, {e}); };
    // With e^-|v| nothing overflows, and results near 0 have a small relative error.
    auto logistic = [&](const Expr &v) {
        Expr e = f("exp", -abs(v));
        return select(v < c(0), e, c(1)) / (c(1) + e);
    };
    auto softplus = [&](const Expr &v) { return max(v, c(0)) + f("log1p", f("exp", -abs(v))); };
    // Returns 0 for -infinity, where the formula y would give infinity * 0.
    auto zero_at_minus_inf = [&](const Expr &y) {
        return select(is_nan(x), x, x < c(-800), c(-0.0), y);
    };
    // Returns e^(factor x^2). An error of 1 ULP in x^2 would be x^2 / 2 ULP in the result. So x^2
    // is computed in two parts, of which the first is exact. Beyond |x| = 40 the result is 0; the
    // limit keeps infinity out of the second part.
    auto exp_of_square = [&](double factor) {
        if (t.bits() != 64) return f("exp", x * x * c(factor));
        const Expr a = min(abs(x), c(40));
        const Expr high = reinterpret(t, reinterpret(UInt(64), a) &
                                             Internal::make_const(UInt(64), 0xfffffffff8000000u));
        const Expr low = strict_float((a - high) * (a + high));
        // A product that isn't strict is compiled to one exp of the sum of both parts, where x is a
        // scalar.
        const Expr of_high = f("exp", strict_float(high * high) * c(factor));
        return select(is_nan(x), x, strict_float(of_high * f("exp", low * c(factor))));
    };
    if (name == "gaussian") return exp_of_square(-0.5);
    if (name == "exp_minus_square") return exp_of_square(-1);
    if (name == "rsqrt") return c(1) / f("sqrt", x);
    if (name == "reciprocal") return c(1) / x;
    if (name == "sigmoid") return logistic(x);
    if (name == "silu") return zero_at_minus_inf(x * logistic(x));
    if (name == "softplus") return select(is_nan(x), x, softplus(x));
    if (name == "logsigmoid") return select(is_nan(x), x, -softplus(-x));
    if (name == "mish") return zero_at_minus_inf(x * f("tanh", softplus(x)));
    if (const auto own = own_f64.find(name); t.bits() == 64 && own != own_f64.end())
        return Internal::common_subexpression_elimination(zero_at_minus_inf(own->second(x)));
    if (name == "gelu")
        return zero_at_minus_inf(c(0.5) * x * f("erfc", -x * c(0.70710678118654752440)));
    if (name == "fast_gelu") return zero_at_minus_inf(x * logistic(x * c(1.702)));
    if (name == "gelu_tanh")
        return zero_at_minus_inf(
            x * logistic(x * (c(1.5957691216057308) + c(0.07135481627260025) * x * x)));
    return Expr();
}

}  // namespace

Expr expand(const std::string &name, const std::vector<Expr> &args, bool own_math) {
    const Expr &x = args[0];
    if (name == "floor") return floor(x);
    if (name == "ceil") return ceil(x);
    if (name == "round") return own_math || x.type() != Float(32) ? round_even(x) : round(x);
    if (name == "trunc") return trunc(x);
    if (own_math && x.type() == Float(32)) {
        // Common subexpressions become lets, so that the expressions stay small in every pass.
        if (auto f = own_f32.find(name); f != own_f32.end())
            return Internal::common_subexpression_elimination(f->second(x));
        if (name == "pow") return Internal::common_subexpression_elimination(pow_f32(x, args[1]));
        if (name == "atan2")
            return Internal::common_subexpression_elimination(atan2_f32(x, args[1]));
    }
    Expr e = composed(name, args);
    return e.defined() ? e : device(name, args);
}

}  // namespace halyard::math
