// Algorithms are written over the reals. This file says what a real is.
//
// In an op, every real is a Halide Float(64) expression: a placeholder, with literals at full
// precision and no dtype in sight. interpret() then rewrites the finished, still unscheduled
// definitions in place: the author's Funcs stay valid handles, so one schedule serves every
// arithmetic.
#pragma once
#include <concepts>

#include "Halide.h"

namespace halyard {

struct Arithmetic {
    enum Kind { ieee, integer, exact } kind = ieee;
    Halide::Type real = Halide::Float(32);  // computed and accumulated in
    // false: leave exp, tanh, ... to the device (Ascend has vexp)
    bool own_math = true;
    // no instruction rounds to f16, and Halide's own code makes infinity of NaN
    bool f16_by_halide = false;
    // where instructions convert f16: a 0 that LLVM doesn't know
    Halide::Expr zero = {};
};

// ieee(Float(32)): what runs. NaN and Inf behave as IEEE says in every max, min, comparison and
// math function.
//   What depends on real attributes only is computed in double and rounded once.
// integer(Int(32)): what runs for integer tensors: + - * wrap; functions that integers lack are an
// error. exact(): modular integers. + - * wrap, max/min/compare act on unsigned integers,
// everything else
//   becomes a fixed mixing function; so any legal schedule gives the same bits, and a lost element
//   does not.
inline Arithmetic ieee(Halide::Type t) {
    return {Arithmetic::ieee, t};
}
inline Arithmetic integer(Halide::Type t) {
    return {Arithmetic::integer, t};
}
inline Arithmetic exact() {
    return {Arithmetic::exact, Halide::UInt(32)};
}

// Rewrites every Func that `outputs`, which are pure, reach; output i is stored as `storage[i]`.
// Throws DTypeError in the name of the Func that computes what the arithmetic hasn't.
void interpret(const std::vector<Halide::Func> &outputs, const std::vector<Halide::Type> &storage,
               const Arithmetic &a);

// The functions reals have. max, min, exp, log, tanh, sqrt, abs, floor, sin and pow are Halide's
// own names; those it lacks are in math. Literals are 0_r, 0.5_r: a bare 0.5 doesn't compile, and
// 0.5f would lose the digits of 0.1f.
Halide::Expr operator""_r(long double value);
Halide::Expr operator""_r(unsigned long long value);

namespace math {
// an integer as a real
Halide::Expr real(const Halide::Expr &e);
// a function of dsl/math/math.h by name: "expm1"
Halide::Expr call(const char *name, std::vector<Halide::Expr> args);
// -infinity: where a max starts
Halide::Expr lowest();
// +infinity: where a min starts
Halide::Expr highest();
// a constant that isn't a literal
Halide::Expr number(double v);
// -x with -0 for 0: Halide's own minus is 0 - x
Halide::Expr negative(const Halide::Expr &x);
// integers too: dsl/math/integer_math.h
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
// of x - max x: f32 has 0 below 2^-126
inline Halide::Expr exp_nonpositive(const Halide::Expr &x) {
    return call("exp_nonpositive", {x});
}
inline Halide::Expr exp2(const Halide::Expr &x) {
    return call("exp2", {x});
}
inline Halide::Expr expm1(const Halide::Expr &x) {
    return call("expm1", {x});
}
// x * P(N(0,1) < x), accurate in its left tail
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

// A double beside a real would be ambiguous to Halide, which takes floats and ints. These overloads
// are better matches, and say what to write.
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
