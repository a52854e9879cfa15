// The cube unit and what leaves its accumulators. An mmad sums 16 products (32 of i8) in f32 in
// order of k, then adds that sum to the accumulator (ASSUMED: the hardware's order within a fractal
// isn't published). i8 is exact.
#include <algorithm>
#include <cstring>
#include <vector>

#include "ascend/simulator/memory.h"

namespace halyard::dv {
namespace {

template<class T, class Sum> void mmad(const Mmad &i, const Step &s, Memory &m) {
    constexpr int unit = block_bytes / int(sizeof(T));
    const int64_t rows = i.m.value();
    const int64_t depth = i.k.value();
    const int64_t columns = i.n.value();
    const int64_t k1 = (depth + unit - 1) / unit;
    const int64_t n1 = (columns + cube - 1) / cube;
    const int64_t m_padded = round_up(rows, cube);
    const T *a = (const T *)m.at(s.locations[1]);
    const T *b = (const T *)m.at(s.locations[2]);
    Sum *c = (Sum *)m.at(s.locations[0]);
    const bool add = i.accumulate.value() != 0;
    // Both as Sum, b as [k1][n1][k0][n0], so that the inner loop runs over the columns of a
    // fractal.
    std::vector<Sum> left(static_cast<size_t>(m_padded * k1 * unit));
    std::vector<Sum> right(static_cast<size_t>(k1 * n1 * unit * cube));
    for (size_t e = 0; e < left.size(); e++)
        left[e] = (Sum)a[e];
    for (int64_t f = 0; f < k1 * n1; f++) {
        for (int col = 0; col < cube; col++) {
            for (int k = 0; k < unit; k++)
                right[size_t((f * unit + k) * cube + col)] = (Sum)b[(f * cube + col) * unit + k];
        }
    }
    for (int64_t n = 0; n < n1; n++) {
        for (int64_t r = 0; r < rows; r++) {
            Sum total[cube] = {};
            Sum *to = c + (n * m_padded + r) * cube;
            if (add) std::copy(to, to + cube, total);
            for (int64_t k = 0; k < k1; k++) {
                const Sum *x = left.data() + ((r / cube * k1 + k) * cube + r % cube) * unit;
                const Sum *y = right.data() + (k * n1 + n) * unit * cube;
                Sum part[cube] = {};
                const int64_t deep = std::min<int64_t>(unit, depth - k * unit);
                for (int64_t kk = 0; kk < deep; kk++) {
                    for (int col = 0; col < cube; col++)
                        part[col] += x[kk] * y[kk * cube + col];
                }
                for (int col = 0; col < cube; col++)
                    total[col] += part[col];
            }
            std::copy(total, total + std::min<int64_t>(cube, columns - n * cube), to);
        }
    }
}

template<class From, class To> void copy(const From *from, To *to, int64_t count, bool relu) {
    for (int64_t e = 0; e < count; e++) {
        const From v = relu && from[e] < 0 ? From(0) : from[e];
        if constexpr (std::is_same_v<From, To>)
            to[e] = v;
        else
            to[e] = To(float(v));
    }
}
// Calls f with null pointers of the types l0c can leave as.
template<class F> void types_of(DType from, DType to, const F &f) {
    if (from == DType::i32) return f((const int32_t *)nullptr, (int32_t *)nullptr);
    if (to == DType::f16) return f((const float *)nullptr, (float16 *)nullptr);
    if (to == DType::bf16) return f((const float *)nullptr, (bfloat16 *)nullptr);
    f((const float *)nullptr, (float *)nullptr);
}

}  // namespace

void execute(const Mmad &i, const Step &s, Memory &m) {
    switch (s.locations[1].dtype) {
    case DType::f16: return mmad<float16, float>(i, s, m);
    case DType::bf16: return mmad<bfloat16, float>(i, s, m);
    case DType::f32: return mmad<float, float>(i, s, m);
    case DType::i8: return mmad<int8_t, int32_t>(i, s, m);
    default: break;
    }
}

void execute(const CcToUb &c, const Step &s, Memory &m) {
    types_of(s.locations[1].dtype, s.locations[0].dtype, [&](auto from, auto to) {
        const int64_t count = c.burst.value() * cube * cube;
        for (int64_t i = 0; i < c.nburst.value(); i++) {
            from = (decltype(from))m.at(s.locations[1]) +
                   i * (count + c.src_gap.value() * cube * cube);
            to = (decltype(to))(m.at(s.locations[0]) + i * (count * int64_t(sizeof *to) +
                                                         c.dst_gap.value() * block_bytes));
            copy(from, to, count, c.relu);
        }
    });
}

void execute(const Fixpipe &f, const Step &s, Memory &m) {
    types_of(s.locations[1].dtype, s.locations[0].dtype, [&](auto from, auto to) {
        from = (decltype(from))m.at(s.locations[1]);
        to = (decltype(to))m.at(s.locations[0]);
        const int64_t rows = f.m.value();
        const int64_t columns = f.n.value();
        const int64_t m_padded = round_up(rows, cube);
        if (f.nz) return copy(from, to, m_padded * round_up(columns, cube), f.relu);
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t n = 0; n < columns; n += cube) {
                copy(from + (n / cube * m_padded + r) * cube, to + r * f.pitch.value() + n,
                     std::min<int64_t>(cube, columns - n), f.relu);
            }
        }
    });
}

}  // namespace halyard::dv
