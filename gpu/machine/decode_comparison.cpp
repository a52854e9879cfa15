// Comparisons, and selections by them.
#include <cmath>

#include "gpu/machine/decoder.h"
#include "gpu/machine/lanes.h"

namespace halyard::ptx {
namespace {

struct Equal {
    template<class T> static bool of(T a, T b) { return a == b; }
};
struct NotEqual {  // and both are numbers
    template<class T> static bool of(T a, T b) { return a < b || a > b; }
};
struct Less {
    template<class T> static bool of(T a, T b) { return a < b; }
};
struct LessOrEqual {
    template<class T> static bool of(T a, T b) { return a <= b; }
};
struct Greater {
    template<class T> static bool of(T a, T b) { return a > b; }
};
struct GreaterOrEqual {
    template<class T> static bool of(T a, T b) { return a >= b; }
};
struct Numbers {
    template<class T> static bool of(T a, T b) { return a == a && b == b; }
};
// True as well if one of the values is NaN.
template<class F> struct OrNan {
    template<class T> static bool of(T a, T b) { return F::of(a, b) || !Numbers::of(a, b); }
};
struct Never {
    template<class T> static bool of(T, T) { return false; }
};

enum class Combination : uint8_t { none, both, either, exactly_one };

uint32_t combined(Combination c, uint32_t result, uint32_t other) {
    switch (c) {
    case Combination::none: break;
    case Combination::both: return result & other;
    case Combination::either: return result | other;
    case Combination::exactly_one: return result ^ other;
    }
    return result;
}

template<class F, class T, bool flushes> void compare(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a], &b = w.rows[s.b];
    uint32_t result = 0;
    for_lanes(mask, [&](uint32_t l) {
        T x = unpack<T>(a[l]), y = unpack<T>(b[l]);
        if constexpr (flushes) {
            x = flush(x);
            y = flush(y);
        }
        result |= uint32_t(F::of(x, y)) << l;
    });
    result = combined(Combination(s.count), result, w.predicates[s.c] ^ s.flip);
    uint32_t &to = w.predicates[s.to];
    to = (to & ~mask) | (result & mask);
}

template<class F> Execute compare_floats(const TypeName &type, bool flushes) {
    if (flushes) return type == "f32" ? compare<F, float, true> : Execute(nullptr);
    return for_type<float16, float, double>(type, []<class T>() { return compare<F, T, false>; });
}

template<class F> Execute compare_integers(const TypeName &type, bool as_unsigned) {
    if (as_unsigned && type[0] != 'u' && type[0] != 'b') return nullptr;
    return for_type<int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        type, []<class T>() { return compare<F, T, false>; });
}

// Returns null for a comparison that the type doesn't have.
template<class F> Execute comparison(const std::string &name, const char *ordered,
                                     const char *unordered, const char *unsigned_name,
                                     const TypeName &type, bool flushes) {
    const bool is_float = type[0] == 'f';
    if (name == ordered)
        return is_float ? compare_floats<F>(type, flushes) : compare_integers<F>(type, false);
    if (is_float && name == unordered) return compare_floats<OrNan<F>>(type, flushes);
    if (!is_float && name == unsigned_name) return compare_integers<F>(type, true);
    return nullptr;
}

Execute comparison_of(const std::string &name, const TypeName &type, bool flushes) {
    if (name == "num") return type[0] == 'f' ? compare_floats<Numbers>(type, flushes) : nullptr;
    if (name == "nan")
        return type[0] == 'f' ? compare_floats<OrNan<Never>>(type, flushes) : nullptr;
    for (Execute found : {
             comparison<Equal>(name, "eq", "equ", "eq", type, flushes),
             comparison<NotEqual>(name, "ne", "neu", "ne", type, flushes),
             comparison<Less>(name, "lt", "ltu", "lo", type, flushes),
             comparison<LessOrEqual>(name, "le", "leu", "ls", type, flushes),
             comparison<Greater>(name, "gt", "gtu", "hi", type, flushes),
             comparison<GreaterOrEqual>(name, "ge", "geu", "hs", type, flushes),
         }) {
        if (found) return found;
    }
    return nullptr;
}

Combination combination(Decoder &d) {
    if (d.take("and")) return Combination::both;
    if (d.take("or")) return Combination::either;
    return d.take("xor") ? Combination::exactly_one : Combination::none;
}

void set_predicate(Decoder &d) {
    const TypeName type = d.take_type();
    const bool flushes = d.take("ftz");
    const Combination c = combination(d);
    d.require_operands(c == Combination::none ? 3 : 4);
    d.step.to = d.predicate(0);
    d.step.a = d.row(1, type);
    d.step.b = d.row(2, type);
    if (c != Combination::none) {
        d.step.c = d.predicate(3);
        d.step.flip = d.operand(3).negated ? all_lanes : 0;
    }
    d.step.count = uint32_t(c);
    d.step.execute = comparison_of(d.take_any(), type, flushes);
}

void select_rows(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a], &b = w.rows[s.b];
    const uint32_t takes_a = w.predicates[s.c];
    Row &to = w.rows[s.to];
    for_lanes(mask, [&](uint32_t l) { to[l] = (takes_a >> l & 1) != 0 ? a[l] : b[l]; });
}

void select(Decoder &d) {
    const TypeName type = d.take_type();
    if (bytes_of(type) < 2) d.refuse();
    d.require_operands(4);
    d.step.to = d.row(0, type);
    d.step.a = d.row(1, type);
    d.step.b = d.row(2, type);
    d.step.c = d.predicate(3);
    d.step.execute = select_rows;
}

enum class Property : uint8_t { finite, infinite, number, not_a_number, normal, subnormal };

template<class T> bool has_property(Property p, T value) {
    switch (p) {
    case Property::finite: return std::isfinite(value);
    case Property::infinite: return std::isinf(value);
    case Property::number: return !std::isnan(value);
    case Property::not_a_number: return std::isnan(value);
    case Property::normal: return std::isnormal(value);
    case Property::subnormal: return std::fpclassify(value) == FP_SUBNORMAL;
    }
    return false;
}

template<class T> void test_property(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a];
    uint32_t result = 0;
    for_lanes(mask, [&](uint32_t l) {
        result |= uint32_t(has_property(Property(s.count), unpack<T>(a[l]))) << l;
    });
    uint32_t &to = w.predicates[s.to];
    to = (to & ~mask) | (result & mask);
}

void test(Decoder &d) {
    const TypeName type = d.take_type();
    static const std::map<std::string, Property> properties = {
        {"finite", Property::finite}, {"infinite", Property::infinite},
        {"number", Property::number}, {"notanumber", Property::not_a_number},
        {"normal", Property::normal}, {"subnormal", Property::subnormal},
    };
    const auto property = properties.find(d.take_any());
    if (property == properties.end()) d.refuse();
    d.require_operands(2);
    d.step.to = d.predicate(0);
    d.step.a = d.row(1, type);
    d.step.count = uint32_t(property->second);
    d.step.execute = for_type<float, double>(type, []<class T>() { return test_property<T>; });
}

}  // namespace

bool decode_comparison(Decoder &d) {
    if (d.mnemonic() == "setp")
        set_predicate(d);
    else if (d.mnemonic() == "selp")
        select(d);
    else if (d.mnemonic() == "testp")
        test(d);
    else
        return false;
    return true;
}

}  // namespace halyard::ptx
