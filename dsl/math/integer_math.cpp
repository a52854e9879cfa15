#include "dsl/math/integer_math.h"

#include <cmath>

#include "dsl/ascend/math.h"

namespace halyard {
using namespace Halide;
using Internal::make_const;

namespace {

// Returns a / b or a % b of unsigned integers, and 0 if b is 0.
Expr unsigned_division(const Expr &a, const Expr &b, bool quotient, Divider on) {
    if (on != Divider::gpu) return quotient ? a / b : a % b;
    const Expr zero = make_const(b.type(), 0);
    const Expr divisor = max(b, make_const(b.type(), 1));
    return select(b == zero, zero, quotient ? a / divisor : a % divisor);
}

// Returns floor(a / b). Halide's / and % are Euclidean: 0 <= a % b < |b|, and both are 0 if b is 0.
// A division by -1 is replaced by a negation, because the lowest integer divided by -1 raises a
// signal on x86.
Expr floor_quotient(const Expr &a, const Expr &b, Divider on) {
    if (a.type().is_uint()) return unsigned_division(a, b, true, on);
    const Expr minus = make_const(b.type(), -1);
    const Expr one = make_const(b.type(), 1);
    const Expr zero = make_const(b.type(), 0);
    const Expr safe = select(b == minus, one, b);
    const Expr q = a / safe;
    const Type u = a.type().with_code(Type::UInt);
    const Expr negated = cast(a.type(), make_const(u, 0) - cast(u, a));
    return select(b == minus, negated, select(b < zero && a % safe != zero, q - one, q));
}
// Returns a - b floor(a / b).
Expr floor_remainder(const Expr &a, const Expr &b, Divider on) {
    if (a.type().is_uint()) return unsigned_division(a, b, false, on);
    const Expr minus = make_const(b.type(), -1);
    const Expr one = make_const(b.type(), 1);
    const Expr zero = make_const(b.type(), 0);
    const Expr r = a % select(b == minus, one, b);
    return select(b < zero && r != zero, r + b, r);
}
// Returns a - b trunc(a / b), which has the sign of a.
Expr trunc_remainder(const Expr &a, const Expr &b, Divider on) {
    if (a.type().is_uint()) return unsigned_division(a, b, false, on);
    const Expr minus = make_const(b.type(), -1);
    const Expr one = make_const(b.type(), 1);
    const Expr zero = make_const(b.type(), 0);
    const Expr r = a % select(b == minus, one, b);
    return select(a < zero && r != zero, select(b < zero, r + b, r - b), r);
}
// Returns a^b by repeated squaring, in the unsigned type, where products wrap.
Expr power(const Expr &a, const Expr &b) {
    const Type u = a.type().with_code(Type::UInt);
    const Expr one = make_const(u, 1);
    const Expr zero = make_const(u, 0);
    const Expr e = cast(u, b);
    Expr square = cast(u, a);
    Expr y = one;
    for (int bit = 0; bit < u.bits() - 1; bit++) {
        y = select((e & make_const(u, uint64_t(1) << bit)) != zero, y * square, y);
        square = square * square;
    }
    const Expr minus = cast(u, make_const(a.type(), -1));
    const Expr v = cast(u, a);
    const Expr reciprocal = select(v == one, one,
                                   select(v == minus, select((e & one) != zero, minus, one), zero));
    return Internal::common_subexpression_elimination(cast(
        a.type(), a.type().is_uint() ? y : select(b < make_const(b.type(), 0), reciprocal, y)));
}

// Returns a^b as a call of pow_i32 or pow_i64, which wrap: a C99 function has helpers for them.
Expr called_power(const Expr &a, const Expr &b) {
    const Type t = a.type();
    const Type wide = t.bits() <= 32 ? Int(32) : Int(64);
    return cast(t,
                Internal::Call::make(wide, "pow_i" + std::to_string(wide.bits()),
                                     {cast(wide, a), cast(wide, b)}, Internal::Call::PureExtern));
}

// Returns a << b or a >> b. A count outside of [0, bits) gives what as many shifts by 1 would give:
// 0, or copies of the sign in a right shift.
Expr shift(const Expr &a, const Expr &b, bool left) {
    const Type u = a.type().with_code(Type::UInt);
    const Expr zero = make_const(b.type(), 0);
    const Expr last = make_const(b.type(), a.type().bits() - 1);
    const Expr outside = b < zero || b > last;
    const Expr count = cast(u, clamp(b, zero, last));
    if (left) return select(outside, make_const(a.type(), 0), cast(a.type(), cast(u, a) << count));
    return select(outside && a.type().is_uint(), make_const(a.type(), 0),
                  a >> select(outside, cast(u, last), count));
}

}  // namespace

Expr integer_function(const std::string &name, const std::vector<Expr> &args, Divider on) {
    if (name == "floor_div") return floor_quotient(args[0], args[1], on);
    if (name == "floor_mod") return floor_remainder(args[0], args[1], on);
    if (name == "mod") return trunc_remainder(args[0], args[1], on);
    if (name == "pow") {
        // As one expression it would be too long for a program of Ascend.
        const bool stepwise = on == Divider::ascend && args[0].type() == Int(32);
        return stepwise ? Internal::Call::make(Int(32), "pow_i32", args, Internal::Call::PureExtern)
                        : power(args[0], args[1]);
    }
    if (name == "c99_pow") return called_power(args[0], args[1]);
    if (name == "bitwise_and") return args[0] & args[1];
    if (name == "bitwise_or") return args[0] | args[1];
    if (name == "bitwise_xor") return args[0] ^ args[1];
    if (name == "bitwise_not") return ~args[0];
    if (name == "left_shift") return shift(args[0], args[1], true);
    if (name == "right_shift") return shift(args[0], args[1], false);
    return Expr();
}

namespace {

// Names the values of a computation, so that each is written once. strict_float() and other
// mutators visit a shared subexpression once for every use of it, and the uses in a chain of steps
// multiply.
class Lets {
public:
    Expr name(const std::string &name, const Expr &value) {
        lets_.emplace_back(name, value);
        return Internal::Variable::make(value.type(), name);
    }
    // Returns `e`, in which the names stand for their values.
    Expr in(Expr e) const {
        for (auto let = lets_.rbegin(); let != lets_.rend(); ++let)
            e = Internal::Let::make(let->first, let->second, e);
        return e;
    }

private:
    std::vector<std::pair<std::string, Expr>> lets_;
};

// Returns fmod(a, b) of f32, exactly, by arithmetic in double. The quotient has up to 277 bits, of
// which each step removes 28: multiples of |b| 2^k are exact in double, and so are their
// differences. A rounded quotient may be 1 too large, which the sign of the difference shows.
Expr remainder_in_steps(const Expr &dividend, const Expr &divisor) {
    constexpr int step = 28;
    Lets lets;
    const Expr a = lets.name("dividend", dividend);
    const Expr b = lets.name("divisor", divisor);
    const Type wide = Float(64).with_lanes(a.type().lanes());
    const Type t = a.type();
    const Expr x = lets.name("size", cast(wide, abs(a)));
    const Expr y = lets.name("unit", cast(wide, abs(b)));
    const Expr zero = Internal::make_zero(wide);
    Expr r = x;
    for (int bits = 9 * step; bits >= 0; bits -= step) {
        const std::string at = std::to_string(bits);
        const Expr multiple = y * make_const(wide, std::ldexp(1.0, bits));
        const Expr rest = lets.name("rest" + at, strict_float(r - trunc(r / multiple) * multiple));
        r = lets.name("remainder" + at,
                      select(r < multiple, r, rest < zero, rest + multiple, rest));
    }
    const Expr is_defined = y > zero && x < make_const(wide, INFINITY) && b == b;
    const Expr with_sign = select(a < Internal::make_zero(t), -cast(t, r), cast(t, r));
    const Expr not_a_number = make_const(t, std::nan(""));
    return lets.in(select(x < y, a, is_defined, with_sign, not_a_number));
}

Expr float_remainder(const Expr &a, const Expr &b, Divider on) {
    const Type t = a.type();
    if (t.bits() == 32 && on == Divider::ascend) return ascend::function("mod", {a, b});
    if (t.bits() == 32 && on == Divider::gpu) return remainder_in_steps(a, b);
    return Internal::Call::make(t, t.bits() == 64 ? "fmod" : "fmodf", {a, b},
                                Internal::Call::PureExtern);
}

}  // namespace

Expr float_division(const std::string &name, const std::vector<Expr> &args, Divider on) {
    const bool is_quotient = name == "floor_div" || name == "trunc_div";
    if (!is_quotient && name != "floor_mod" && name != "mod") return Expr();
    const Expr &a = args[0];
    const Expr &b = args[1];
    const Type t = a.type();
    const Type wide = Float(64).with_lanes(t.lanes());
    if (is_quotient && on == Divider::ascend && t == Float(32)) return ascend::function(name, args);
    // The quotient of two floats is never so close to an integer that its rounding to double could
    // reach that integer.
    if (name == "floor_div") return cast(t, floor(cast(wide, a) / cast(wide, b)));
    if (name == "trunc_div") return cast(t, trunc(cast(wide, a) / cast(wide, b)));
    const Expr zero = Internal::make_zero(t);
    const Expr r = float_remainder(a, b, on);
    if (name == "mod") return r;
    const Expr signs_differ = (strict_float(r < zero) && strict_float(b > zero)) ||
                              (strict_float(r > zero) && strict_float(b < zero));
    return select(signs_differ, r + b, r);
}

}  // namespace halyard
