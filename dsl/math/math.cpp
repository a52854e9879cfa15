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

Expr external(const std::string &name, const std::vector<Expr> &args) {
    return Internal::Call::make(args[0].type(), name, args, Internal::Call::PureExtern);
}
// Adding 2^23 (2^52) drops the fraction. Halide's round converts to int32 where the target has no
// such instruction.
Expr round_even(const Expr &x) {
    const bool wide = x.type().bits() == 64;
    Expr limit = Internal::FloatImm::make(x.type(), wide ? 0x1p52 : 0x1p23);
    Expr a = abs(x);
    Expr y = minus(plus(a, limit), limit);
    const Type t = UInt(x.type().bits());
    Expr sign = reinterpret(t, x) & Internal::make_const(t, uint64_t(1) << (t.bits() - 1));
    Expr whole = reinterpret(t, a) >=
                 Internal::make_const(t, wide ? 0x4330000000000000u : 0x4b000000u);
    return select(whole, x, reinterpret(x.type(), reinterpret(t, y) | sign));
}
// exp -> exp_f64, which Halide maps to libm; the functions it does not know keep libm's own name.
Expr device(const std::string &name, const std::vector<Expr> &args) {
    const bool wide = args[0].type().bits() == 64;
    if (name == "exp_nonpositive") return device("exp", args);
    if (!wide)
        if (Expr e = ascend::function(name, args); e.defined()) return e;
    if (wide && (name == "exp2" || name == "expm1" || name == "log2" || name == "log10" ||
                 name == "log1p" || name == "erf" || name == "erfc"))
        return external(name, args);
    return external(name + (wide ? "_f64" : "_f32"), args);
}

// What libm has no function for, from what it has; each form is stable on both sides of 0.
Expr composed(const std::string &name, const std::vector<Expr> &args) {
    const Expr &x = args[0];
    const Type t = x.type();
    if (t.bits() == 32)
        if (Expr e = ascend::function(name, args); e.defined()) return e;
    auto c = [&](double v) { return Internal::FloatImm::make(t, v); };
    auto f = [&](const char *n, const Expr &e) { return device(n, {e}); };
    auto logistic = [&](const Expr &v) {  // e^-|v|: no overflow, and a relative left tail
        Expr e = f("exp", -abs(v));
        return select(v < c(0), e, c(1)) / (c(1) + e);
    };
    auto softplus = [&](const Expr &v) { return max(v, c(0)) + f("log1p", f("exp", -abs(v))); };
    // 0 at -inf, not inf * 0
    auto limited = [&](const Expr &y) { return select(is_nan(x), x, x < c(-800), c(-0.0), y); };
    // e^(factor x^2). A rounding of x^2 would cost x^2 / 2 of them in the result, so it is taken in
    // two parts, of which the first is exact. Past 40 the result is 0, and infinity has no second
    // part.
    auto exp_of_square = [&](double factor) {
        if (t.bits() != 64) return f("exp", x * x * c(factor));
        const Expr a = min(abs(x), c(40));
        const Expr high = reinterpret(t, reinterpret(UInt(64), a) &
                                             Internal::make_const(UInt(64), 0xfffffffff8000000u));
        const Expr low = strict_float((a - high) * (a + high));
        return select(is_nan(x), x,
                      f("exp", strict_float(high * high) * c(factor)) * f("exp", low * c(factor)));
    };
    if (name == "gaussian") return exp_of_square(-0.5);
    if (name == "exp_minus_square") return exp_of_square(-1);
    if (name == "rsqrt") return c(1) / f("sqrt", x);
    if (name == "reciprocal") return c(1) / x;
    if (name == "sigmoid") return logistic(x);
    if (name == "silu") return limited(x * logistic(x));
    if (name == "softplus") return select(is_nan(x), x, softplus(x));
    if (name == "logsigmoid") return select(is_nan(x), x, -softplus(-x));
    if (name == "mish") return limited(x * f("tanh", softplus(x)));
    if (name == "gelu") return limited(c(0.5) * x * f("erfc", -x * c(0.70710678118654752440)));
    if (name == "fast_gelu") return limited(x * logistic(x * c(1.702)));
    if (name == "gelu_tanh")
        return limited(x * logistic(x * (c(1.5957691216057308) + c(0.07135481627260025) * x * x)));
    return Expr();
}

}  // namespace

Expr expand(const std::string &name, const std::vector<Expr> &args, bool own) {
    const Expr &x = args[0];
    if (name == "floor") return floor(x);
    if (name == "ceil") return ceil(x);
    if (name == "round") return own || x.type() != Float(32) ? round_even(x) : round(x);
    if (name == "trunc") return trunc(x);
    if (own && x.type() == Float(32)) {
        // Deep expressions share parts; as lets they stay small for every pass that copies them.
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
