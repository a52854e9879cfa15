// The cube unit, and moves from its accumulators. An mmad adds 16 products (32 of i8) in f32 in
// order of k, then adds that sum to the accumulator (ASSUMED: the hardware's order within a fractal
// isn't published). i8 is exact.
#include <algorithm>
#include <cstring>
#include <vector>

#include "ascend/simulator/memory.h"

namespace halyard::dv {
namespace {

// The operands of an mmad as Sum: `left` as it is stored, `right` as [k1][n1][k0][n0], so that the
// inner loop runs over the columns of a fractal.
template<class T, class Sum> struct Factors {
    static constexpr int unit = block_bytes / int(sizeof(T));
    std::vector<Sum> left, right;

    Factors(const T *a, const T *b, int64_t m1, int64_t k1, int64_t n1)
        : left(static_cast<size_t>(m1 * cube * k1 * unit)),
          right(static_cast<size_t>(k1 * n1 * unit * cube)) {
        for (size_t e = 0; e < left.size(); e++)
            left[e] = (Sum)a[e];
        for (int64_t f = 0; f < k1 * n1; f++) {
            for (int col = 0; col < cube; col++) {
                for (int k = 0; k < unit; k++) {
                    right[size_t((f * unit + k) * cube + col)] =
                        (Sum)b[(f * cube + col) * unit + k];
                }
            }
        }
    }
};

// Adds the products of `depth` elements of a row and as many rows of 16 columns to `total`.
template<class Sum> void add_products(Sum *total, const Sum *x, const Sum *y, int64_t depth) {
    Sum part[cube] = {};
    for (int64_t k = 0; k < depth; k++) {
        for (int col = 0; col < cube; col++)
            part[col] += x[k] * y[k * cube + col];
    }
    for (int col = 0; col < cube; col++)
        total[col] += part[col];
}

template<class T, class Sum> void mmad(const Mmad &i, const Step &s, Memory &m) {
    constexpr int unit = block_bytes / int(sizeof(T));
    const int64_t rows = i.m.value();
    const int64_t depth = i.k.value();
    const int64_t columns = i.n.value();
    const int64_t k1 = (depth + unit - 1) / unit;
    const int64_t n1 = (columns + cube - 1) / cube;
    const int64_t m1 = (rows + cube - 1) / cube;
    const Factors<T, Sum> factors(reinterpret_cast<const T *>(m.at(s.locations[1])),
                                  reinterpret_cast<const T *>(m.at(s.locations[2])), m1, k1, n1);
    Sum *c = reinterpret_cast<Sum *>(m.at(s.locations[0]));
    const bool add = i.accumulate.value() != 0;
    for (int64_t n = 0; n < n1; n++) {
        for (int64_t r = 0; r < rows; r++) {
            Sum total[cube] = {};
            Sum *to = c + (n * m1 * cube + r) * cube;
            if (add) std::copy(to, to + cube, total);
            for (int64_t k = 0; k < k1; k++) {
                add_products(total,
                             factors.left.data() + ((r / cube * k1 + k) * cube + r % cube) * unit,
                             factors.right.data() + (k * n1 + n) * unit * cube,
                             std::min<int64_t>(unit, depth - k * unit));
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
// Calls f with null pointers of the types of a move from l0c.
template<class F> void types_of(DType from, DType to, const F &f) {
    if (from == DType::i32)
        return f(static_cast<const int32_t *>(nullptr), static_cast<int32_t *>(nullptr));
    if (to == DType::f16)
        return f(static_cast<const float *>(nullptr), static_cast<float16 *>(nullptr));
    if (to == DType::bf16)
        return f(static_cast<const float *>(nullptr), static_cast<bfloat16 *>(nullptr));
    f(static_cast<const float *>(nullptr), static_cast<float *>(nullptr));
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
            from = reinterpret_cast<decltype(from)>(m.at(s.locations[1])) +
                   i * (count + c.src_gap.value() * cube * cube);
            to = reinterpret_cast<decltype(to)>(
                m.at(s.locations[0]) +
                i * (count * int64_t(sizeof *to) + c.dst_gap.value() * block_bytes));
            copy(from, to, count, c.relu);
        }
    });
}

void execute(const Fixpipe &f, const Step &s, Memory &m) {
    types_of(s.locations[1].dtype, s.locations[0].dtype, [&](auto from, auto to) {
        from = reinterpret_cast<decltype(from)>(m.at(s.locations[1]));
        to = reinterpret_cast<decltype(to)>(m.at(s.locations[0]));
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
