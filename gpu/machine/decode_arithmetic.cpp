// Arithmetic of integers and floats. Floats are rounded to nearest even; other roundings, and
// functions whose bits the PTX ISA leaves open (ex2.approx, div.full), are refused.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "gpu/machine/decoder.h"
#include "gpu/machine/fma.h"
#include "gpu/machine/lanes.h"

namespace halyard::ptx {
namespace {

__extension__ using Signed128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;
template<class T> using Wide = std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>;

// Computes f of values in f32 and rounds to f16: sums, products and quotients of two f16 have so
// few bits that the second rounding changes nothing.
template<class T, class F> T rounded(F f) {
    if constexpr (std::is_same_v<T, float16>)
        return canonical(float(f()), float16());
    else if constexpr (std::is_floating_point_v<T>)
        return canonical(T(f()));
    else
        return T(f());
}

// Wraps without overflow, which would be undefined for signed integers.
template<class T> auto wrapping(T value) {
    if constexpr (std::is_integral_v<T>)
        return uint64_t(value);
    else if constexpr (std::is_same_v<T, double>)
        return value;
    else
        return float(value);
}

struct Add {
    template<class T> static T of(T a, T b) {
        return rounded<T>([&] { return wrapping(a) + wrapping(b); });
    }
};
struct Sub {
    template<class T> static T of(T a, T b) {
        return rounded<T>([&] { return wrapping(a) - wrapping(b); });
    }
};
struct Mul {
    template<class T> static T of(T a, T b) {
        return rounded<T>([&] { return wrapping(a) * wrapping(b); });
    }
};
struct MulHigh {
    template<class T> static T of(T a, T b) {
        return T((Wide<T>(a) * Wide<T>(b)) >> 8 * sizeof(T));
    }
};
struct Mad {
    template<class T> static T of(T a, T b, T c) { return Add::of<T>(Mul::of<T>(a, b), c); }
};
template<class D> struct MulWide {
    template<class T> static D of(T a, T b) { return D(D(a) * D(b)); }
};
template<class D> struct MadWide {
    template<class T> static D of(T a, T b, D c) { return D(uint64_t(D(a) * D(b)) + uint64_t(c)); }
};
struct Fma {
    static float16 of(float16 a, float16 b, float16 c) {
        // The sum is exact in f64 wherever it decides the rounding.
        const double sum = double(float(a)) * double(float(b)) + double(float(c));
        float near(sum);
        // Makes the f32 odd where it is inexact, so that the second rounding is the right one.
        if (double(near) != sum && std::isfinite(near)) {
            if (std::fabs(double(near)) > std::fabs(sum)) near = std::nextafter(near, 0.0f);
            near = std::bit_cast<float>(std::bit_cast<uint32_t>(near) | 1);
        }
        return canonical(near, float16());
    }
};
// A GPU gives all ones where C++ has no quotient. The least integer by -1 wraps.
struct Div {
    template<class T> static T of(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            if (b == 0) return T(-1);
            if (std::is_signed_v<T> && b == T(-1)) return T(0 - uint64_t(a));
            return T(a / b);
        } else {
            return rounded<T>([&] { return wrapping(a) / wrapping(b); });
        }
    }
};
struct Rem {
    template<class T> static T of(T a, T b) {
        if (b == 0) return a;
        if (std::is_signed_v<T> && b == T(-1)) return 0;
        return T(a % b);
    }
};

// The sign bit of a float changes, also that of NaN.
struct Neg {
    template<class T> static T of(T a) {
        if constexpr (std::is_same_v<T, float16>) {
            a.bits ^= 0x8000;
            return a;
        } else if constexpr (std::is_floating_point_v<T>) {
            return -a;
        } else {
            return T(0 - uint64_t(a));
        }
    }
};
struct Abs {
    template<class T> static T of(T a) {
        if constexpr (std::is_same_v<T, float16>) {
            a.bits &= 0x7FFF;
            return a;
        } else if constexpr (std::is_floating_point_v<T>) {
            return std::fabs(a);
        } else {
            return a < 0 ? Neg::of(a) : a;
        }
    }
};

// Of two zeros +0 is the larger one. NaN loses against a number.
template<bool is_max> struct Extreme {
    template<class T> static T of(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            return (is_max ? a > b : a < b) ? a : b;
        } else if constexpr (std::is_same_v<T, float16>) {
            return canonical(Extreme::of<float>(a, b), float16());
        } else {
            if (a != a) return canonical(b);
            if (b != b) return canonical(a);
            if (a == b) return std::signbit(a) == is_max ? b : a;
            return (is_max ? a > b : a < b) ? a : b;
        }
    }
};
template<bool is_max> struct ExtremeOrNan {
    template<class T> static T of(T a, T b) {
        if (a != a || b != b) return canonical(std::numeric_limits<T>::quiet_NaN());
        return Extreme<is_max>::template of<T>(a, b);
    }
};

struct Sqrt {
    template<class T> static T of(T a) { return canonical(std::sqrt(a)); }
};
struct Reciprocal {
    template<class T> static T of(T a) { return canonical(T(1) / a); }
};
// copysign.f32 d, a, b: the sign of a, the magnitude of b.
struct CopySign {
    template<class T> static T of(T a, T b) { return std::copysign(b, a); }
};

template<class F> struct Flushed {
    static float of(float a) { return flush(F::of(flush(a))); }
    static float of(float a, float b) { return flush(F::of(flush(a), flush(b))); }
};
template<class F> struct Saturated {
    template<class T> static T of(T a, T b) { return saturate(F::of(a, b)); }
};

// The modifiers of a float instruction.
struct Modifiers {
    explicit Modifiers(Decoder &d) {
        d.take("rn");
        flushes = d.take("ftz");
        saturates = d.take("sat");
    }
    bool flushes, saturates;
};

template<class F> Execute unary_float(const TypeName &type, bool flushes) {
    if (flushes) return type == "f32" ? unary<Flushed<F>, float, float> : Execute(nullptr);
    return for_type<float, double>(type, []<class T>() { return unary<F, T, T>; });
}

template<class F> Execute binary_float(const TypeName &type, const Modifiers &m) {
    if (m.flushes) {
        if (type != "f32") return nullptr;
        return m.saturates ? binary<Saturated<Flushed<F>>, float, float, float>
                           : binary<Flushed<F>, float, float, float>;
    }
    if (m.saturates) return type == "f32" ? binary<Saturated<F>, float, float, float> : nullptr;
    return for_type<float16, float, double>(type, []<class T>() { return binary<F, T, T, T>; });
}

template<class F> Execute binary_integer(const TypeName &type) {
    return for_type<int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        type, []<class T>() { return binary<F, T, T, T>; });
}

bool is_float(const TypeName &type) {
    return type[0] == 'f';
}

template<class F> void binary_of_any(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type, type);
    d.step.execute = is_float(type) ? binary_float<F>(type, Modifiers(d)) : binary_integer<F>(type);
}

TypeName doubled(const TypeName &type) {
    return type[0] + (type.ends_with("16") ? std::string("32") : std::string("64"));
}

template<template<class> class F> Execute widening(const TypeName &type) {
    if (type == "s16") return binary<F<int32_t>, int32_t, int16_t, int16_t>;
    if (type == "u16") return binary<F<uint32_t>, uint32_t, uint16_t, uint16_t>;
    if (type == "s32") return binary<F<int64_t>, int64_t, int32_t, int32_t>;
    if (type == "u32") return binary<F<uint64_t>, uint64_t, uint32_t, uint32_t>;
    return nullptr;
}

void multiply(Decoder &d) {
    const TypeName type = d.take_type();
    if (d.take("wide")) {
        d.rows(doubled(type), type, type);
        d.step.execute = widening<MulWide>(type);
        return;
    }
    d.rows(type, type, type);
    if (d.take("hi"))
        d.step.execute = binary_integer<MulHigh>(type);
    else if (is_float(type))
        d.step.execute = binary_float<Mul>(type, Modifiers(d));
    else if (d.take("lo"))
        d.step.execute = binary_integer<Mul>(type);
}

void multiply_add(Decoder &d) {
    const TypeName type = d.take_type();
    if (d.take("wide")) {
        d.rows(doubled(type), type, type, doubled(type));
        if (type == "s16")
            d.step.execute = ternary<MadWide<int32_t>, int32_t, int16_t, int16_t, int32_t>;
        if (type == "u16")
            d.step.execute = ternary<MadWide<uint32_t>, uint32_t, uint16_t, uint16_t, uint32_t>;
        if (type == "s32")
            d.step.execute = ternary<MadWide<int64_t>, int64_t, int32_t, int32_t, int64_t>;
        if (type == "u32")
            d.step.execute = ternary<MadWide<uint64_t>, uint64_t, uint32_t, uint32_t, uint64_t>;
        return;
    }
    if (is_float(type) || !d.take("lo")) d.refuse();
    d.rows(type, type, type, type);
    d.step.execute = for_type<int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        type, []<class T>() { return ternary<Mad, T, T, T, T>; });
}

void fused(Decoder &d) {
    const TypeName type = d.take_type();
    if (!d.take("rn")) d.refuse();
    d.rows(type, type, type, type);
    if (type == "f16") {
        d.step.execute = ternary<Fma, float16, float16, float16, float16>;
        return;
    }
    const Modifiers m(d);
    d.step.execute = fma_of(type, m.flushes, m.saturates);
}

void divide(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type, type);
    if (!is_float(type)) {
        d.step.execute = binary_integer<Div>(type);
        return;
    }
    if (!d.take("rn")) d.refuse("is not supported: its bits are not defined");
    d.step.execute = binary_float<Div>(type, Modifiers(d));
}

template<class F> void unary_rounded(Decoder &d) {
    const TypeName type = d.take_type();
    if (!d.take("rn")) d.refuse("is not supported: its bits are not defined");
    d.rows(type, type);
    d.step.execute = unary_float<F>(type, d.take("ftz"));
}

template<class F> void sign_change(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type);
    if (d.take("ftz")) {
        d.step.execute = type == "f32" ? unary<Flushed<F>, float, float> : Execute(nullptr);
        return;
    }
    d.step.execute = for_type<int16_t, int32_t, int64_t, float16, float, double>(
        type, []<class T>() { return unary<F, T, T>; });
}

template<bool is_max> void extreme(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type, type);
    if (!is_float(type)) {
        d.step.execute = binary_integer<Extreme<is_max>>(type);
        return;
    }
    const bool keeps_nan = d.take("NaN");
    const Modifiers m(d);
    if (m.saturates) d.refuse();
    if (!keeps_nan)
        d.step.execute = binary_float<Extreme<is_max>>(type, m);
    else if (type == "f32")
        d.step.execute = m.flushes ? binary<Flushed<ExtremeOrNan<is_max>>, float, float, float>
                                   : binary<ExtremeOrNan<is_max>, float, float, float>;
}

void copy_sign(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type, type);
    d.step.execute = for_type<float, double>(type,
                                             []<class T>() { return binary<CopySign, T, T, T>; });
}

void remainder(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type, type);
    d.step.execute = binary_integer<Rem>(type);
}

}  // namespace

bool decode_arithmetic(Decoder &d) {
    static const std::map<std::string, void (*)(Decoder &)> families = {
        {"add", binary_of_any<Add>},
        {"sub", binary_of_any<Sub>},
        {"mul", multiply},
        {"mad", multiply_add},
        {"fma", fused},
        {"div", divide},
        {"rem", remainder},
        {"neg", sign_change<Neg>},
        {"abs", sign_change<Abs>},
        {"max", extreme<true>},
        {"min", extreme<false>},
        {"sqrt", unary_rounded<Sqrt>},
        {"rcp", unary_rounded<Reciprocal>},
        {"copysign", copy_sign},
    };
    const auto family = families.find(d.mnemonic());
    if (family == families.end()) return false;
    family->second(d);
    return true;
}

}  // namespace halyard::ptx
