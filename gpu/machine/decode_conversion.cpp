// Conversions between types, and moves.
#include <cmath>
#include <limits>
#include <utility>

#include "gpu/machine/decoder.h"
#include "gpu/machine/lanes.h"

namespace halyard::ptx {
namespace {

enum class Rounding : uint8_t { nearest, to_zero, down, up };

template<Rounding r> double to_integer(double value) {
    switch (r) {
    case Rounding::nearest: return std::nearbyint(value);
    case Rounding::to_zero: return std::trunc(value);
    case Rounding::down: return std::floor(value);
    case Rounding::up: return std::ceil(value);
    }
    return value;
}

// Returns `rounded`, which is `exact` rounded to nearest, rounded as `r` says instead.
template<Rounding r, class D, class Exact> D directed(D rounded, Exact exact) {
    if (r == Rounding::nearest || std::isnan(rounded) || Exact(rounded) == exact) return rounded;
    const bool is_above = Exact(rounded) > exact;
    constexpr D infinity = std::numeric_limits<D>::infinity();
    const bool wants_above = r == Rounding::up || (r == Rounding::to_zero && exact < 0);
    if (is_above == wants_above) return rounded;
    return std::nextafter(rounded, is_above ? -infinity : infinity);
}

// Float to integer: rounded, then limited to the type. NaN gives 0 for 32 bits and fewer, else the
// highest bit alone.
template<class D, Rounding r> struct ToInteger {
    template<class A> static D of(A a) {
        const double value = double(a);
        if (value != value) {
            const bool wide = sizeof(A) == 8 || sizeof(D) == 8;
            return wide ? D(uint64_t(1) << (8 * sizeof(D) - 1)) : D(0);
        }
        const double whole = to_integer<r>(value);
        // The ends are powers of two, which double has.
        const double least = double(std::numeric_limits<D>::min());
        const double beyond = std::ldexp(1.0, int(std::numeric_limits<D>::digits));
        if (whole < least) return std::numeric_limits<D>::min();
        if (whole >= beyond) return std::numeric_limits<D>::max();
        return D(whole);
    }
};

template<class D, Rounding r> struct FromInteger {
    template<class A> static D of(A a) {
        if constexpr (std::is_floating_point_v<D>) {
            using Exact = long double;
            return directed<r, D, Exact>(D(a), Exact(a));
        } else {
            static_assert(r == Rounding::nearest);
            // Makes the f32 odd where it is inexact, so that the second rounding is the right one.
            float near = float(a);
            if ((long double)near != (long double)a) {
                near = directed<Rounding::to_zero, float, long double>(near, (long double)a);
                near = std::bit_cast<float>(std::bit_cast<uint32_t>(near) | 1);
            }
            return D(near);
        }
    }
};

template<class D> struct ToNarrower {  // f64 to f32 or f16
    static D of(double a) {
        if constexpr (std::is_same_v<D, float>) {
            return canonical(float(a));
        } else {
            float near = float(a);
            if (double(near) != a && std::isfinite(near)) {
                near = directed<Rounding::to_zero, float, double>(near, a);
                near = std::bit_cast<float>(std::bit_cast<uint32_t>(near) | 1);
            }
            return canonical(near, float16());
        }
    }
};
template<Rounding r> struct ToFloat {
    static float of(double a) { return canonical(directed<r, float, double>(float(a), a)); }
};
struct FloatToHalf {
    static float16 of(float a) { return canonical(a, float16()); }
};
struct FloatToBfloat {
    static bfloat16 of(float a) {
        bfloat16 half(a);
        if (a != a) half.bits = 0x7FFF;
        return half;
    }
};
struct Widen {
    template<class A> static auto of(A a) {
        if constexpr (std::is_same_v<A, float>)
            return double(a);
        else
            return canonical(float(a));
    }
};
template<Rounding r> struct RoundToInteger {
    template<class T> static T of(T a) { return canonical(T(to_integer<r>(double(a)))); }
};
struct Copy {
    template<class T> static T of(T a) { return a; }
};

// Conversions from f32 with .ftz see 0 for a subnormal, and those to f32 give it.
template<class F> struct FlushedInput {
    static auto of(float a) { return F::of(flush(a)); }
};
template<class F> struct FlushedOutput {
    template<class A> static float of(A a) { return flush(F::of(a)); }
};
template<class F> struct FlushedBoth {
    static float of(float a) { return flush(F::of(flush(a))); }
};
template<class F> struct SaturatedFloat {
    template<class A> static auto of(A a) { return saturate(F::of(a)); }
};

struct Modifiers {
    bool flushes = false, saturates = false;
    std::string rounding;  // "rn", "rzi", ...; empty if there is none
};

bool is_float(const TypeName &type) {
    return type[0] == 'f' || type == "bf16";
}

template<class D> struct ToWidth {
    template<class A> static D of(A a) { return D(a); }
};
template<class D> struct Clamped {
    template<class A> static D of(A a) {
        if (std::cmp_less(a, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
        if (std::cmp_greater(a, std::numeric_limits<D>::max()))
            return std::numeric_limits<D>::max();
        return D(a);
    }
};

template<class A> Execute integer_to(const TypeName &to, bool saturates) {
    return for_type<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        to,
        [&]<class D>() { return saturates ? unary<Clamped<D>, D, A> : unary<ToWidth<D>, D, A>; });
}

Execute between_integers(const TypeName &to, const TypeName &from, const Modifiers &m) {
    if (!m.rounding.empty() || m.flushes) return nullptr;
    return for_type<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        from, [&]<class A>() { return integer_to<A>(to, m.saturates); });
}

template<class A, Rounding r> Execute from_float(const TypeName &to, bool flushes) {
    return for_type<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        to, [&]<class D>() -> Execute {
            using F = ToInteger<D, r>;
            if constexpr (std::is_same_v<A, float>) {
                if (flushes) return unary<FlushedInput<F>, D, A>;
            }
            return flushes ? nullptr : unary<F, D, A>;
        });
}

Execute float_to_integer(const TypeName &to, const TypeName &from, const Modifiers &m) {
    return for_type<float16, float, double>(from, [&]<class A>() -> Execute {
        if (m.rounding == "rni") return from_float<A, Rounding::nearest>(to, m.flushes);
        if (m.rounding == "rzi") return from_float<A, Rounding::to_zero>(to, m.flushes);
        if (m.rounding == "rmi") return from_float<A, Rounding::down>(to, m.flushes);
        if (m.rounding == "rpi") return from_float<A, Rounding::up>(to, m.flushes);
        return nullptr;
    });
}

template<class D, Rounding r> Execute from_integer(const TypeName &from) {
    return for_type<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        from, []<class A>() { return unary<FromInteger<D, r>, D, A>; });
}

Execute integer_to_float(const TypeName &to, const TypeName &from, const Modifiers &m) {
    if (m.flushes || m.saturates) return nullptr;
    if (to == "f16")
        return m.rounding == "rn" ? from_integer<float16, Rounding::nearest>(from) : nullptr;
    return for_type<float, double>(to, [&]<class D>() -> Execute {
        if (m.rounding == "rn") return from_integer<D, Rounding::nearest>(from);
        if (m.rounding == "rz") return from_integer<D, Rounding::to_zero>(from);
        if (m.rounding == "rm") return from_integer<D, Rounding::down>(from);
        if (m.rounding == "rp") return from_integer<D, Rounding::up>(from);
        return nullptr;
    });
}

template<Rounding r> Execute rounded_to_integer(const TypeName &type, const Modifiers &m) {
    using F = RoundToInteger<r>;
    if (type == "f64") return m.flushes ? nullptr : unary<F, double, double>;
    if (type != "f32") return nullptr;
    return m.flushes ? unary<FlushedBoth<F>, float, float> : unary<F, float, float>;
}

Execute same_float(const TypeName &type, const Modifiers &m) {
    if (m.saturates && m.rounding.empty() && type == "f32") {
        using F = SaturatedFloat<Copy>;
        return m.flushes ? unary<FlushedInput<F>, float, float> : unary<F, float, float>;
    }
    if (m.saturates) return nullptr;
    if (m.rounding == "rni") return rounded_to_integer<Rounding::nearest>(type, m);
    if (m.rounding == "rzi") return rounded_to_integer<Rounding::to_zero>(type, m);
    if (m.rounding == "rmi") return rounded_to_integer<Rounding::down>(type, m);
    if (m.rounding == "rpi") return rounded_to_integer<Rounding::up>(type, m);
    if (!m.rounding.empty()) return nullptr;
    if (m.flushes) return type == "f32" ? unary<FlushedInput<Copy>, float, float> : nullptr;
    return for_type<float16, float, double>(type, []<class T>() { return unary<Copy, T, T>; });
}

template<Rounding r> Execute double_to_float(bool flushes) {
    return flushes ? unary<FlushedOutput<ToFloat<r>>, float, double>
                   : unary<ToFloat<r>, float, double>;
}

Execute double_to_float(const Modifiers &m) {
    if (m.rounding == "rn") return double_to_float<Rounding::nearest>(m.flushes);
    if (m.rounding == "rz") return double_to_float<Rounding::to_zero>(m.flushes);
    if (m.rounding == "rm") return double_to_float<Rounding::down>(m.flushes);
    return m.rounding == "rp" ? double_to_float<Rounding::up>(m.flushes) : nullptr;
}

Execute between_floats(const TypeName &to, const TypeName &from, const Modifiers &m) {
    if (m.saturates) return nullptr;
    if (to == "f32" && from == "f64") return double_to_float(m);
    const bool to_half = to == "f16" || to == "bf16";
    if (to_half && m.rounding != "rn") return nullptr;
    if (to == "f16" && from == "f64") return unary<ToNarrower<float16>, float16, double>;
    if (to == "f16" && from == "f32") {
        return m.flushes ? unary<FlushedInput<FloatToHalf>, float16, float>
                         : unary<FloatToHalf, float16, float>;
    }
    if (to == "bf16" && from == "f32" && !m.flushes) return unary<FloatToBfloat, bfloat16, float>;
    if (!m.rounding.empty()) return nullptr;
    if (to == "f64" && from == "f32") {
        return m.flushes ? unary<FlushedInput<Widen>, double, float> : unary<Widen, double, float>;
    }
    if (to == "f32" && from == "f16") return unary<Widen, float, float16>;
    if (to == "f64" && from == "f16") return unary<Widen, double, float16>;
    return nullptr;
}

std::string rounding_of(Decoder &d) {
    for (const char *r : {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"})
        if (d.take(r)) return r;
    return "";
}

void convert(Decoder &d) {
    const TypeName from = d.take_type();
    const TypeName to = d.take_type();
    Modifiers m;
    m.flushes = d.take("ftz");
    m.saturates = d.take("sat");
    m.rounding = rounding_of(d);
    d.rows(to, from);
    if (is_float(to) && is_float(from))
        d.step.execute = to == from ? same_float(to, m) : between_floats(to, from, m);
    else if (is_float(to))
        d.step.execute = integer_to_float(to, from, m);
    else if (is_float(from))
        d.step.execute = float_to_integer(to, from, m);
    else
        d.step.execute = between_integers(to, from, m);
}

void copy_row(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a];
    Row &to = w.rows[s.to];
    for_lanes(mask, [&](uint32_t l) { to[l] = a[l]; });
}

void copy_predicate(const Step &s, Warp &w, uint32_t mask) {
    uint32_t &to = w.predicates[s.to];
    to = (to & ~mask) | (w.predicates[s.a] & mask);
}

void set_predicate(const Step &s, Warp &w, uint32_t mask) {
    uint32_t &to = w.predicates[s.to];
    to = (to & ~mask) | (s.offset != 0 ? mask : 0);
}

// mov.b64 d, {a, b}: the first part has the lowest bits. `offset` is the bits of a part.
void join_parts(const Step &s, Warp &w, uint32_t mask) {
    const uint64_t ones = (uint64_t(1) << s.offset) - 1;
    Row &to = w.rows[s.to];
    for_lanes(mask, [&](uint32_t l) {
        uint64_t all = 0;
        for (uint32_t k = 0; k < s.count; k++)
            all |= (w.rows[s.list[k]][l] & ones) << (s.offset * k);
        to[l] = all;
    });
}

void split_parts(const Step &s, Warp &w, uint32_t mask) {
    const uint64_t ones = (uint64_t(1) << s.offset) - 1;
    for_lanes(mask, [&](uint32_t l) {
        const uint64_t all = w.rows[s.a][l];
        for (uint32_t k = 0; k < s.count; k++)
            if ((s.list_used >> k & 1) != 0) w.rows[s.list[k]][l] = all >> (s.offset * k) & ones;
    });
}

void list_parts(Decoder &d, const Operand &o, const TypeName &whole) {
    d.step.count = uint32_t(o.parts.size());
    if (d.step.count != 2 && d.step.count != 4) d.refuse("has no vector of 2 or 4");
    d.step.offset = 8 * bytes_of(whole) / d.step.count;
    for (uint32_t k = 0; k < d.step.count; k++) {
        if (o.parts[k].kind == Operand::Kind::sink) continue;
        d.step.list[k] = d.registers.row(o.parts[k], "b32", d.statement.line);
        d.step.list_used |= 1U << k;
    }
}

void move(Decoder &d) {
    const TypeName type = d.take_type();
    d.require_operands(2);
    if (type == "pred") {
        d.step.to = d.predicate(0);
        const bool is_number = d.operand(1).kind == Operand::Kind::number;
        if (is_number)
            d.step.offset = d.operand(1).bits != 0 ? 1 : 0;
        else
            d.step.a = d.predicate(1);
        d.step.execute = is_number ? set_predicate : copy_predicate;
    } else if (bytes_of(type) < 2) {
        d.refuse();
    } else if (d.operand(1).kind == Operand::Kind::vector) {
        d.step.to = d.row(0, type);
        list_parts(d, d.operand(1), type);
        d.step.execute = join_parts;
    } else if (d.operand(0).kind == Operand::Kind::vector) {
        d.step.a = d.row(1, type);
        list_parts(d, d.operand(0), type);
        d.step.execute = split_parts;
    } else {
        d.rows(type, type);
        d.step.execute = copy_row;
    }
}

// Generic addresses of global memory are the same numbers. Those of other spaces are refused.
void convert_address(Decoder &d) {
    const TypeName type = d.take_type();
    d.take("to");
    if (!d.take("global")) d.refuse();
    d.rows(type, type);
    d.step.execute = copy_row;
}

}  // namespace

bool decode_conversion(Decoder &d) {
    if (d.mnemonic() == "cvt")
        convert(d);
    else if (d.mnemonic() == "mov")
        move(d);
    else if (d.mnemonic() == "cvta")
        convert_address(d);
    else
        return false;
    return true;
}

}  // namespace halyard::ptx
