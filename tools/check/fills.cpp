#include "tools/check/fills.h"

#include <cmath>
#include <cstring>

namespace halyard::check {
namespace {

// Moves a positive float of one element by `steps` among the numbers of its dtype.
void add_to_bits(const Tensor &one, int steps) {
    const auto move = [&]<class Bits>(Bits) {
        Bits bits;
        std::memcpy(&bits, one.raw(), sizeof bits);
        bits = static_cast<Bits>(bits + static_cast<Bits>(steps));
        std::memcpy(one.raw(), &bits, sizeof bits);
    };
    switch (one.bytes()) {
    case 2: return move(uint16_t());
    case 4: return move(uint32_t());
    default: return move(uint64_t());
    }
}

}  // namespace

Tensor poisoned(int64_t elements, DType t) {
    Tensor memory = Tensor::empty({elements}, t);
    std::memset(memory.raw(), 0xA5, memory.bytes());
    return memory;
}

void sprinkle(const Tensor &t, int count, std::mt19937 &rng) {
    // Values that overflow only in between, such as 3e38, are in check_specials.
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0., -0., 1, 1e-40, -1e-40};
    constexpr int few = 8;
    const unsigned kinds = count > few ? 6 : 8;
    if (!is_float(t.dtype()) || t.elements() == 0) return;
    const Tensor flat = t.reshape({t.elements()});
    for (int i = 0; i < count; i++) {
        const auto at = int64_t(rng() % uint64_t(t.elements()));
        flat.set({at}, specials[rng() % kinds]);
    }
}

void fill_magnitudes(const Tensor &t, bool extreme, std::mt19937 &rng) {
    if (!is_float(t.dtype())) return;
    const int largest = t.dtype() == DType::f64 ? 1023 : t.dtype() == DType::f16 ? 15 : 127;
    const int from = extreme ? -largest - 20 : -20;  // subnormal numbers, too
    const int to = extreme ? largest : 7;
    std::uniform_real_distribution<double> mantissa(1, 1.9);
    const Tensor flat = t.reshape({t.elements()});
    for (int64_t i = 0; i < t.elements(); i++) {
        const int exponent = from + int(rng() % unsigned(to - from + 1));
        flat.set({i}, std::ldexp(mantissa(rng), exponent) * (rng() % 2 ? -1 : 1));
    }
}

void fill_tiny(const Tensor &t, std::mt19937 &rng) {
    if (!is_float(t.dtype())) return;
    const int least = t.dtype() == DType::f64   ? -1074
                      : t.dtype() == DType::f32 ? -149
                      : t.dtype() == DType::f16 ? -24
                                                : -133;
    constexpr unsigned exponents = 32;
    std::uniform_real_distribution<double> mantissa(1, 1.9);
    const Tensor flat = t.reshape({t.elements()});
    for (int64_t i = 0; i < t.elements(); i++) {
        const int exponent = least + int(rng() % exponents);
        flat.set({i}, std::ldexp(mantissa(rng), exponent) * (rng() % 2 ? -1 : 1));
    }
}

void fill_every_value(const Tensor &t) {
    if (!is_float(t.dtype()) || bytes_of(t.dtype()) != 2) return;
    const Tensor dense = Tensor::empty({t.elements()}, t.dtype());
    auto *bits = static_cast<uint16_t *>(dense.raw());
    for (int64_t i = 0; i < t.elements(); i++)
        bits[i] = static_cast<uint16_t>(i);
    t.assign(dense.reshape(t.shape()));
}

void fill_every_pair(const Tensor &t, size_t input) {
    if (input > 1 || (t.dtype() != DType::i8 && t.dtype() != DType::u8)) return;
    constexpr int64_t values = 256;
    const Tensor dense = Tensor::empty({t.elements()}, t.dtype());
    auto *bytes = static_cast<uint8_t *>(dense.raw());
    for (int64_t i = 0; i < t.elements(); i++)
        bytes[i] = static_cast<uint8_t>(input == 0 ? i : i / values);
    t.assign(dense.reshape(t.shape()));
}

void fill_integers(const Tensor &t, std::mt19937 &rng) {
    if (!is_float(t.dtype())) return;
    static const unsigned zeros_of_16[] = {0, 8, 14};
    const unsigned zeros = zeros_of_16[rng() % 3];
    const Tensor flat = t.reshape({t.elements()});
    for (int64_t i = 0; i < t.elements(); i++) {
        const int magnitude = 1 + int(rng() % 3);
        const bool is_zero = rng() % 16 < zeros;
        flat.set({i}, is_zero ? 0 : rng() % 2 ? magnitude : -magnitude);
    }
}

void fill_breakpoints(const Tensor &t, const std::vector<double> &own, std::mt19937 &rng) {
    std::vector<double> all = {0, 0, 0, 1, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 4, -4, 6, -6};
    for (double v : own) {
        if (v == double(float(bfloat16(float(v)))) && std::fabs(v) < 1e3)
            all.insert(all.end(), {v, -v});
    }
    if (!is_float(t.dtype())) return;
    const Tensor flat = t.reshape({t.elements()});
    const double one = all[rng() % all.size()];
    const bool same = rng() % 8 == 0;  // all elements alike, for ops such as "any is not 0"
    for (int64_t i = 0; i < t.elements(); i++) {
        if (same)
            flat.set({i}, one);
        else if (rng() % 2)
            flat.set({i}, all[rng() % all.size()]);
    }
}

void fill_constants(const Tensor &t, const std::vector<double> &constants, std::mt19937 &rng) {
    if (!is_float(t.dtype()) || constants.empty()) return;
    const Tensor flat = t.reshape({t.elements()});
    const Tensor one = Tensor::empty({1}, t.dtype());
    for (int64_t i = 0; i < t.elements(); i++) {
        if (rng() % 2) continue;
        one.set({0}, constants[rng() % constants.size()]);
        add_to_bits(one, int(rng() % 3) - 1);
        const double value = one.at({0});
        if (std::isfinite(value)) flat.set({i}, rng() % 2 ? value : -value);
    }
}

}  // namespace halyard::check
