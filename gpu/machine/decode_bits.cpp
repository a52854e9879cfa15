// Logic, shifts and fields of bits. Of predicates, which are a bit a lane, logic takes whole words.
#include <algorithm>
#include <bit>

#include "gpu/machine/decoder.h"
#include "gpu/machine/lanes.h"

namespace halyard::ptx {
namespace {

struct And {
    template<class T> static T of(T a, T b) { return a & b; }
};
struct Or {
    template<class T> static T of(T a, T b) { return a | b; }
};
struct Xor {
    template<class T> static T of(T a, T b) { return a ^ b; }
};
struct Not {
    template<class T> static T of(T a) { return T(~a); }
};

// A shift by as many bits as there are, or more, leaves 0, or the sign.
struct ShiftLeft {
    template<class T> static T of(T a, uint32_t by) {
        return by < 8 * sizeof(T) ? T(a << by) : T(0);
    }
};
struct ShiftRight {
    template<class T> static T of(T a, uint32_t by) {
        return T(a >> std::min(by, uint32_t(8 * sizeof(T) - 1)) >> (by < 8 * sizeof(T) ? 0 : 1));
    }
};
// shf: 32 bits of the 64 of b and a, where a has the lower ones.
template<bool left, bool wraps> struct FunnelShift {
    static uint32_t of(uint32_t a, uint32_t b, uint32_t by) {
        by = wraps ? by & 31 : std::min(by, 32U);
        const uint64_t both = uint64_t(b) << 32 | a;
        return left ? uint32_t(both << by >> 32) : uint32_t(both >> by);
    }
};

struct PopulationCount {
    template<class T> static uint32_t of(T a) { return uint32_t(std::popcount(a)); }
};
struct LeadingZeros {
    template<class T> static uint32_t of(T a) { return uint32_t(std::countl_zero(a)); }
};
struct Reverse {
    template<class T> static T of(T a) {
        T r = 0;
        for (size_t k = 0; k < 8 * sizeof(T); k++)
            r = T(r << 1 | (a >> k & 1));
        return r;
    }
};

// bfe: `length` bits from `start` on. Those beyond the value are copies of its sign, or 0.
struct ExtractField {
    template<class T> static T of(T a, uint32_t start, uint32_t length) {
        constexpr uint32_t bits = 8 * sizeof(T);
        start &= 0xFF;
        length &= 0xFF;
        if (length == 0) return 0;
        const uint32_t last = std::min(start + length - 1, bits - 1);
        const bool sign = std::is_signed_v<T> && (a >> last & 1) != 0;
        T r = 0;
        for (uint32_t k = 0; k < bits; k++) {
            const bool bit = k < length && start + k < bits ? (a >> (start + k) & 1) != 0 : sign;
            r = T(r | T(bit) << k);
        }
        return r;
    }
};

// prmt: each of four selectors takes one of the eight bytes of b and a, or copies of its sign.
struct Permute {
    static uint32_t of(uint32_t a, uint32_t b, uint32_t selectors) {
        const uint64_t both = uint64_t(b) << 32 | a;
        uint32_t r = 0;
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t selector = selectors >> 4 * k & 15;
            uint32_t byte = uint32_t(both >> 8 * (selector & 7)) & 0xFF;
            if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
            r |= byte << 8 * k;
        }
        return r;
    }
};

template<class F> void predicates(const Step &s, Warp &w, uint32_t mask) {
    const uint32_t result = F::of(w.predicates[s.a], w.predicates[s.b]);
    uint32_t &to = w.predicates[s.to];
    to = (to & ~mask) | (result & mask);
}
void inverted_predicate(const Step &s, Warp &w, uint32_t mask) {
    uint32_t &to = w.predicates[s.to];
    to = (to & ~mask) | (~w.predicates[s.a] & mask);
}

template<class F> void logic(Decoder &d) {
    const TypeName type = d.take_type();
    if (type == "pred") {
        d.require_operands(3);
        d.step.to = d.predicate(0);
        d.step.a = d.predicate(1);
        d.step.b = d.predicate(2);
        d.step.execute = predicates<F>;
        return;
    }
    d.rows(type, type, type);
    if (type[0] == 'b') {
        d.step.execute = for_type<uint16_t, uint32_t, uint64_t>(
            type, []<class T>() { return binary<F, T, T, T>; });
    }
}

void invert(Decoder &d) {
    const TypeName type = d.take_type();
    if (type == "pred") {
        d.require_operands(2);
        d.step.to = d.predicate(0);
        d.step.a = d.predicate(1);
        d.step.execute = inverted_predicate;
        return;
    }
    d.rows(type, type);
    d.step.execute = for_type<uint16_t, uint32_t, uint64_t>(
        type, []<class T>() { return unary<Not, T, T>; });
}

template<class F> void shift(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type, "u32");
    d.step.execute = for_type<int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
        type, []<class T>() { return binary<F, T, T, uint32_t>; });
}

void funnel_shift(Decoder &d) {
    const TypeName type = d.take_type();
    const bool left = d.take("l");
    if ((!left && !d.take("r")) || type != "b32") d.refuse();
    const bool wraps = d.take("wrap");
    if (!wraps && !d.take("clamp")) d.refuse();
    d.rows(type, type, type, type);
    using U = uint32_t;
    if (left)
        d.step.execute = wraps ? ternary<FunnelShift<true, true>, U, U, U, U>
                               : ternary<FunnelShift<true, false>, U, U, U, U>;
    else
        d.step.execute = wraps ? ternary<FunnelShift<false, true>, U, U, U, U>
                               : ternary<FunnelShift<false, false>, U, U, U, U>;
}

template<class F> void count(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows("u32", type);
    d.step.execute = for_type<uint32_t, uint64_t>(type,
                                                  []<class T>() { return unary<F, uint32_t, T>; });
}

void reverse(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type);
    d.step.execute = for_type<uint32_t, uint64_t>(type,
                                                  []<class T>() { return unary<Reverse, T, T>; });
}

void extract_field(Decoder &d) {
    const TypeName type = d.take_type();
    d.rows(type, type, "u32", "u32");
    d.step.execute = for_type<int32_t, uint32_t, int64_t, uint64_t>(
        type, []<class T>() { return ternary<ExtractField, T, T, uint32_t, uint32_t>; });
}

void permute(Decoder &d) {
    const TypeName type = d.take_type();
    if (type != "b32") d.refuse();
    d.rows(type, type, type, type);
    d.step.execute = ternary<Permute, uint32_t, uint32_t, uint32_t, uint32_t>;
}

}  // namespace

bool decode_bits(Decoder &d) {
    static const std::map<std::string, void (*)(Decoder &)> families = {
        {"and", logic<And>},          {"or", logic<Or>},
        {"xor", logic<Xor>},          {"not", invert},
        {"shl", shift<ShiftLeft>},    {"shr", shift<ShiftRight>},
        {"shf", funnel_shift},        {"popc", count<PopulationCount>},
        {"clz", count<LeadingZeros>}, {"brev", reverse},
        {"bfe", extract_field},       {"prmt", permute},
    };
    const auto family = families.find(d.mnemonic());
    if (family == families.end()) return false;
    family->second(d);
    return true;
}

}  // namespace halyard::ptx
