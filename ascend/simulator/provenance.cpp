#include "ascend/simulator/provenance.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace halyard::dv {

namespace {

constexpr int64_t kinds = 8;  // 0: zero, 1..4: elements of tensors 0..3, 5: a sum, 7: unknown
constexpr int64_t unknown = int64_t(2047) * 2048 * 2048 + 2047 * 2048 + 2047;

int64_t number_of(const Origin &o) {
    switch (o.kind) {
    case Origin::zero: return 0;
    case Origin::element: return o.index * kinds + 1 + o.tensor;
    case Origin::sum: return o.index * kinds + 5;
    default: return unknown;
    }
}

// Tables of the digits as f16, and back.
struct Digits {
    std::vector<float16> half;
    std::vector<uint16_t> digit;
    Digits() : half(2048), digit(65536) {
        for (int d = 0; d < 2048; d++) {
            half[size_t(d)] = float16(float(d));
            digit[std::bit_cast<uint16_t>(half[size_t(d)])] = uint16_t(d);
        }
    }
};
const Digits &digits() {
    static const Digits d;
    return d;
}

Origin origin_of(int64_t number) {
    if (number == 0) return {};
    const int64_t kind = number % kinds;
    if (number == unknown || kind == 0 || kind > 5) return {Origin::unknown};
    if (kind == 5) return {Origin::sum, 0, number / kinds};
    return {Origin::element, int(kind) - 1, number / kinds};
}

}  // namespace

Provenance::Provenance(const Program &p, Hooks hooks) : program_(p), hooks_(std::move(hooks)) {
    for (int k = 0; k < planes; k++)
        memories_.emplace_back(p.chip(), std::vector<Binding>());
}

void Provenance::run(Walker &walker, int64_t block) {
    begun_ = 0;
    // All memory is unknown at first.
    for (const Scope s : {Scope::ub, Scope::l1, Scope::l0a, Scope::l0b, Scope::l0c}) {
        int64_t used = 0;
        for (const Buffer &b : program_.buffers)
            if (b.scope == s) used = std::max(used, b.address + b.slot_bytes() * b.slots);
        Location p;
        p.scope = s;
        for (Memory &m : memories_) {
            if (s == Scope::l0c)
                std::fill_n(reinterpret_cast<float *>(m.base(p)), used / 4, float(base - 1));
            else
                std::fill_n(reinterpret_cast<float16 *>(m.base(p)), used / 2,
                            float16(float(base - 1)));
        }
    }
    walker.run(block, *this);
}

Origin Provenance::at(const Location &p, int64_t byte) const {
    int64_t number = 0;
    for (int k = planes; k-- > 0;) {
        const uint8_t *from = const_cast<Memory &>(memories_[size_t(k)]).base(p) + byte;
        if (p.scope == Scope::l0c) {
            float digit;
            std::memcpy(&digit, from, 4);
            number = number * base + int64_t(digit);
        } else {
            uint16_t bits;
            std::memcpy(&bits, from, 2);
            number = number * base + digits().digit[bits];
        }
    }
    return origin_of(number);
}

void Provenance::put(const Location &p, int64_t byte, const Origin &o) {
    int64_t number = number_of(o);
    for (Memory &m : memories_) {
        const float digit = float(number % base);
        if (p.scope == Scope::l0c)
            std::memcpy(m.base(p) + byte, &digit, 4);
        else
            std::memcpy(m.base(p) + byte, &digits().half[size_t(number % base)], 2);
        number /= base;
    }
}

void Provenance::step(Step &s) {
    if (std::holds_alternative<SetFlag>(s.op) || std::holds_alternative<WaitFlag>(s.op) ||
        std::holds_alternative<Barrier>(s.op))
        return;
    const auto within = [&](Scope scope) { return s.count > 0 && s.locations[0].scope == scope; };
    if (!hooks_.products && (within(Scope::l1) || within(Scope::l0a) || within(Scope::l0b))) return;
    if (const Dma *d = std::get_if<Dma>(&s.op)) {
        elements_checked_ += d->nburst.value() * d->burst.value() * block_bytes / 2;
        if (s.locations[1].scope == Scope::gm) return from_gm(*d, s);
        if (s.locations[0].scope == Scope::gm) return to_gm(*d, s);
    } else if (const Load3d *l = std::get_if<Load3d>(&s.op))
        elements_checked_ += l->m_extent.value() * l->k_extent.value();
    if (const Mmad *m = std::get_if<Mmad>(&s.op)) return multiply(*m, s);
    if (std::holds_alternative<ScalarSt>(s.op))
        return put(s.locations[0], s.locations[0].at, origin_of(int64_t(s.number)));
    for (Memory &m : memories_)
        execute(s, m);
}

double Provenance::load(Step &s) {
    return double(number_of(at(s.locations[0], s.locations[0].at)));
}

void Provenance::from_gm(const Dma &d, const Step &s) {
    if (!hooks_.products && s.locations[0].scope != Scope::ub) return;
    const int64_t bytes = d.burst.value() * block_bytes;
    int64_t to = s.locations[0].at;
    int64_t from = s.locations[1].at;
    const bool none = hooks_.read(s.locations[1].tensor, 0).kind == Origin::unknown;
    for (int64_t i = 0; i < d.nburst.value(); i++) {
        for (Memory &m : memories_) {
            if (none)
                std::fill_n(reinterpret_cast<float16 *>(m.base(s.locations[0]) + to), bytes / 2,
                            digits().half.back());
        }
        for (int64_t b = 0; b < bytes && !none; b += 2)
            put(s.locations[0], to + b, hooks_.read(s.locations[1].tensor, (from + b) / 2));
        to += bytes + d.dst_gap.value() * block_bytes;
        from += bytes + d.src_gap.value() * block_bytes;
    }
}

void Provenance::to_gm(const Dma &d, const Step &s) {
    if (!hooks_.write) return;
    const int64_t bytes = d.burst.value() * block_bytes;
    int64_t to = s.locations[0].at;
    int64_t from = s.locations[1].at;
    for (int64_t i = 0; i < d.nburst.value(); i++) {
        for (int64_t b = 0; b < bytes; b += 2)
            hooks_.write(s.locations[0].tensor, (to + b) / 2, at(s.locations[1], from + b), s);
        to += bytes + d.dst_gap.value() * block_bytes;
        from += bytes + d.src_gap.value() * block_bytes;
    }
}

void Provenance::multiply(const Mmad &m, const Step &s) {
    const int64_t k1 = round_up(m.k.value(), cube) / cube;
    const int64_t n1 = round_up(m.n.value(), cube) / cube;
    const int64_t rows = round_up(m.m.value(), cube);
    const bool begins = m.accumulate.value() == 0;
    begun_ += begins;
    if (begins) {
        for (int64_t i = 0; i < rows * n1 * cube; i++) {
            put(s.locations[0], s.locations[0].at + i * 4,
                {Origin::sum, 0, begun_ * sums_at_once + s.locations[0].at / 4 + i});
        }
    }
    if (!hooks_.products) return;
    elements_checked_ += m.k.value() * (m.m.value() + m.n.value());
    const auto left = [&](int64_t r, int64_t k) {
        return at(s.locations[1],
                  s.locations[1].at +
                      (((r / cube * k1 + k / cube) * cube + r % cube) * cube + k % cube) * 2);
    };
    const auto right = [&](int64_t k, int64_t c) {
        return at(s.locations[2],
                  s.locations[2].at +
                      (((k / cube * n1 + c / cube) * cube + c % cube) * cube + k % cube) * 2);
    };
    hooks_.products({&s, m.m.value(), m.n.value(), m.k.value(),
                     at(s.locations[0], s.locations[0].at).index, begins, left, right});
}

}  // namespace halyard::dv
