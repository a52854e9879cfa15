// Real numbers: the values that algorithms compute with.
//
// In an algorithm, a real is a Halide expression of type Float(64), which stands for any
// arithmetic. interpret() rewrites the finished definitions, before they are scheduled, to the
// arithmetic of one kernel. It changes them in place: the op's Funcs stay valid, so one schedule
// serves every arithmetic.
#pragma once
#include <concepts>

#include "Halide.h"

namespace halyard {

// Arithmetic: what stands for the reals in one kernel.
struct Arithmetic {
    enum Kind { ieee, integer, exact } kind = ieee;
    // The type of every value and sum.
    Halide::Type real = Halide::Float(32);
    // If true, exp, tanh, ... become polynomials (dsl/math/math.h). If false, they become calls of
    // the device's functions, such as Ascend's vexp.
    bool own_math = true;
    bool on_gpu = false;
    // If true, Halide's code converts from and to f16, because the target has no instruction for
    // it. Halide's code turns NaN into infinity, so NaN gets a case of its own (dsl/convert.h).
    bool f16_by_halide = false;
    // If defined, a kernel argument that is 0 in every call. It keeps LLVM from assuming, where
    // instructions convert f16, that no value is NaN or infinite.
    Halide::Expr zero = {};
    // The type that math::edge() rounds to, and, if defined, a kernel argument that is 0 in every
    // call. It keeps LLVM from seeing through edges.
    Halide::Type edge = Halide::Float(32);
    Halide::Expr edge_zero = {};
};

// Returns floating-point arithmetic in `t`. max, min, comparisons and math functions treat NaN and
// infinity as IEEE 754 does. Expressions over real attributes alone are computed in double and
// rounded once.
inline Arithmetic ieee(Halide::Type t) {
    return {Arithmetic::ieee, t};
}
// Returns integer arithmetic in `t`: + - * wrap. interpret() throws DTypeError for functions that
// integers do not have.
inline Arithmetic integer(Halide::Type t) {
    return {Arithmetic::integer, t};
}
// Returns arithmetic modulo 2^32, where the order of a sum does not matter. max, min and
// comparisons act on unsigned integers; every other function becomes a fixed mixing function. So
// all legal schedules give the same bits, and a lost or repeated term changes them.
inline Arithmetic exact() {
    return {Arithmetic::exact, Halide::UInt(32)};
}

// Rewrites all Funcs that `outputs` depend on, to the arithmetic `a`. Output i, which has no
// update, is stored as `storage[i]`. Throws DTypeError, with the Func's name as op, for a function
// or a constant that the arithmetic does not have.
void interpret(const std::vector<Halide::Func> &outputs, const std::vector<Halide::Type> &storage,
               const Arithmetic &a);

// Literals of reals: 0_r, 0.5_r. A bare 0.5 does not compile in an algorithm; 0.1f would lose
// digits in f64 kernels.
Halide::Expr operator""_r(long double value);
Halide::Expr operator""_r(unsigned long long value);

// The functions of reals. Halide's own names are used for max, min, exp, log, tanh, sqrt, abs,
// floor, sin and pow; namespace math has the others.
namespace math {
// Returns an integer expression as a real.
Halide::Expr real(const Halide::Expr &e);
// Returns the real x as an op's caller gets it: rounded to the dtype T. The compiler neither
// contracts nor cancels operations across it. In integers and in exact mode it is x.
Halide::Expr edge(const Halide::Expr &x);
// Returns x as another value of which the compiler doesn't know that it is x: of x - x and x / x it
// would make 0 and 1, also where x is NaN.
Halide::Expr twin(const Halide::Expr &x);
// Returns a call of a function of dsl/math/math.h by its name: "expm1".
Halide::Expr call(const char *name, std::vector<Halide::Expr> args);
// Returns -infinity, the initial value of a maximum.
Halide::Expr lowest();
// Returns +infinity, the initial value of a minimum.
Halide::Expr highest();
// Returns a constant that is computed rather than written as a literal.
Halide::Expr number(double v);
// Returns -x, which is -0 for 0; Halide's unary minus returns 0.
Halide::Expr negative(const Halide::Expr &x);
// floor_div() and floor_mod() exist in integer arithmetic too (dsl/math/integer_math.h).
inline Halide::Expr floor_div(Halide::Expr a, Halide::Expr b) {
    return call("floor_div", {a, b});
}
inline Halide::Expr floor_mod(Halide::Expr a, Halide::Expr b) {
    return call("floor_mod", {a, b});
}
inline Halide::Expr is_nan(const Halide::Expr &x) {
    return x != x;
}
inline Halide::Expr erf(const Halide::Expr &x) {
    return call("erf", {x});
}
inline Halide::Expr erfc(const Halide::Expr &x) {
    return call("erfc", {x});
}
// Returns exp(x) for x <= 0; in f32, results below 2^-126 are 0. Softmax uses it for x - max x.
inline Halide::Expr exp_nonpositive(const Halide::Expr &x) {
    return call("exp_nonpositive", {x});
}
inline Halide::Expr exp2(const Halide::Expr &x) {
    return call("exp2", {x});
}
inline Halide::Expr expm1(const Halide::Expr &x) {
    return call("expm1", {x});
}
// Returns x * Phi(x), where Phi is the normal distribution, with a small relative error for very
// negative x too.
inline Halide::Expr gelu(const Halide::Expr &x) {
    return call("gelu", {x});
}
inline Halide::Expr gelu_tanh(const Halide::Expr &x) {
    return call("gelu_tanh", {x});
}
inline Halide::Expr log1p(const Halide::Expr &x) {
    return call("log1p", {x});
}
inline Halide::Expr log2(const Halide::Expr &x) {
    return call("log2", {x});
}
inline Halide::Expr logsigmoid(const Halide::Expr &x) {
    return call("logsigmoid", {x});
}
inline Halide::Expr mish(const Halide::Expr &x) {
    return call("mish", {x});
}
inline Halide::Expr reciprocal(const Halide::Expr &x) {
    return call("reciprocal", {x});
}
inline Halide::Expr rsqrt(const Halide::Expr &x) {
    return call("rsqrt", {x});
}
inline Halide::Expr sigmoid(const Halide::Expr &x) {
    return call("sigmoid", {x});
}
inline Halide::Expr silu(const Halide::Expr &x) {
    return call("silu", {x});
}
inline Halide::Expr softplus(const Halide::Expr &x) {
    return call("softplus", {x});
}
}  // namespace math

}  // namespace halyard

// Halide has operators for an Expr and a float or int. A double with an Expr would be ambiguous,
// with a long error message. These overloads match better, and their message says what to write.
namespace Halide {

template<class T>
concept BareLiteral = std::same_as<T, double>;

template<class T> Expr refuse_bare_literal() {
    static_assert(sizeof(T) == 0, "write 0.5_r, not 0.5: a constant of an algorithm is a real, and "
                                  "has the literal suffix _r (dsl/real.h)");
    return {};
}

#define HALYARD_REFUSE_LITERAL(function)                                                           \
    template<BareLiteral T> Expr function(const Expr &, T) {                                       \
        return refuse_bare_literal<T>();                                                           \
    }                                                                                              \
    template<BareLiteral T> Expr function(T, const Expr &) {                                       \
        return refuse_bare_literal<T>();                                                           \
    }
HALYARD_REFUSE_LITERAL(operator+)
HALYARD_REFUSE_LITERAL(operator-)
HALYARD_REFUSE_LITERAL(operator*)
HALYARD_REFUSE_LITERAL(operator/)
HALYARD_REFUSE_LITERAL(operator%)
HALYARD_REFUSE_LITERAL(operator<)
HALYARD_REFUSE_LITERAL(operator<=)
HALYARD_REFUSE_LITERAL(operator>)
HALYARD_REFUSE_LITERAL(operator>=)
HALYARD_REFUSE_LITERAL(operator==)
HALYARD_REFUSE_LITERAL(operator!=)
HALYARD_REFUSE_LITERAL(max)
HALYARD_REFUSE_LITERAL(min)
HALYARD_REFUSE_LITERAL(pow)
#undef HALYARD_REFUSE_LITERAL

template<BareLiteral T> Expr select(const Expr &, T, const Expr &) {
    return refuse_bare_literal<T>();
}
template<BareLiteral T> Expr select(const Expr &, const Expr &, T) {
    return refuse_bare_literal<T>();
}
template<BareLiteral T> Expr select(const Expr &, T, T) {
    return refuse_bare_literal<T>();
}
template<BareLiteral T> Expr clamp(const Expr &, T, T) {
    return refuse_bare_literal<T>();
}

}  // namespace Halide
