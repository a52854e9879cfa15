// Tiles of N vectors of N elements are transposed by log2 N rounds of interleaving. When a vector
// is a cache line, each line is read once and written once. The same code is compiled for every
// instruction set, with the vector extensions of GCC and Clang.
#include "registry/tensor/transpose.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "registry/op/op_record.h"

namespace halyard {
namespace {

// Tiles go block by block, so that the pages of a block stay in the TLB (docs/performance.md, "Run
// time").
constexpr int64_t block_rows = 256, block_columns = 64;

template<class E> struct Matrix {
    E *to;
    const E *from;
    int64_t rows, columns, to_step, from_step;

    Matrix part(int64_t i, int64_t j, int64_t m, int64_t n) const {
        return {to + i * to_step + j, from + i + j * from_step, m, n, to_step, from_step};
    }
};

template<class E, int N> struct VectorOf {
    typedef E Type __attribute__((vector_size(N * sizeof(E))));
};

// Interleaves: lo = a[0] b[0] a[1] b[1] ..., hi likewise from the upper halves.
template<int N, class V, size_t... K>
[[gnu::always_inline]] inline void zip(V &lo, V &hi, const V &a, const V &b,
                                       std::index_sequence<K...>) {
    lo = __builtin_shufflevector(a, b, (K % 2 ? N + K / 2 : K / 2)...);
    hi = __builtin_shufflevector(a, b, (N / 2 + (K % 2 ? N + K / 2 : K / 2))...);
}

// Transposes one tile: reads N elements from each of `loads` columns and writes N elements to each
// of `stores` rows. With fewer than N, elements beyond the tile are read or written; the caller
// makes sure that they are in the matrix and are overwritten later.
template<int N, class E>
[[gnu::always_inline]] inline void tile(const Matrix<E> &m, int loads = N, int stores = N) {
    using V = typename VectorOf<E, N>::Type;
    V v[N], zipped[N];
#pragma GCC unroll 16
    for (int k = 0; k < N; k++) {
        if (k < loads)
            std::memcpy(&v[k], m.from + k * m.from_step, sizeof(V));
        else
            v[k] = V{};
    }
#pragma GCC unroll 4
    for (int round = 1; round < N; round *= 2) {
#pragma GCC unroll 8
        for (int k = 0; k < N / 2; k++) {
            zip<N>(zipped[2 * k], zipped[2 * k + 1], v[k], v[k + N / 2],
                   std::make_index_sequence<N>());
        }
#pragma GCC unroll 16
        for (int k = 0; k < N; k++)
            v[k] = zipped[k];
    }
#pragma GCC unroll 16
    for (int k = 0; k < N; k++)
        if (k < stores) std::memcpy(m.to + k * m.to_step, &v[k], sizeof(V));
}

template<class E> void one_by_one(const Matrix<E> &m) {
    for (int64_t i = 0; i < m.rows; i++) {
        for (int64_t j = 0; j < m.columns; j++)
            m.to[i * m.to_step + j] = m.from[i + j * m.from_step];
    }
}

// For at least N rows and columns. The last tiles overlap the ones before them.
template<int N, class E> [[gnu::always_inline]] inline void by_tiles(const Matrix<E> &m) {
    for (int64_t i0 = 0; i0 < m.rows; i0 += block_rows) {
        for (int64_t j0 = 0; j0 < m.columns; j0 += block_columns) {
            for (int64_t i = i0; i < std::min(i0 + block_rows, m.rows); i += N) {
                for (int64_t j = j0; j < std::min(j0 + block_columns, m.columns); j += N)
                    tile<N>(m.part(std::min(i, m.rows - N), std::min(j, m.columns - N), N, N));
            }
        }
    }
}

// For up to N columns with contiguous rows in `to`. Each row is written with excess elements, which
// the next row overwrites; the last rows are copied element by element.
template<int N, class E> [[gnu::always_inline]] inline void few_columns(const Matrix<E> &m) {
    int64_t i = 0;
    for (; i + 2 * N <= m.rows; i += N)
        tile<N>(m.part(i, 0, N, m.columns), int(m.columns));
    one_by_one(m.part(i, 0, m.rows - i, m.columns));
}

// For up to N rows with contiguous columns in `from`. Each column is read with elements of the next
// one; the last columns are copied element by element.
template<int N, class E> [[gnu::always_inline]] inline void few_rows(const Matrix<E> &m) {
    int64_t j = 0;
    for (; j + 2 * N <= m.columns; j += N)
        tile<N>(m.part(0, j, m.rows, N), N, int(m.rows));
    one_by_one(m.part(0, j, m.rows, m.columns - j));
}

// Transposes with vectors of up to `Bytes` bytes.
template<int Bytes, class E> [[gnu::always_inline]] inline void transpose(const Matrix<E> &m) {
    constexpr int N = std::min(16, Bytes / int(sizeof(E)));
    if (m.rows >= N && m.columns >= N) return by_tiles<N>(m);
    if (m.columns <= 4 && m.to_step == m.columns) return few_columns<4>(m);
    if (m.rows <= 4 && m.from_step == m.rows) return few_rows<4>(m);
    if (m.columns < N && m.to_step == m.columns) return few_columns<N>(m);
    if (m.rows < N && m.from_step == m.rows) return few_rows<N>(m);
    if (m.rows >= 4 && m.columns >= 4) return by_tiles<4>(m);
    one_by_one(m);
}

template<int N, class V, size_t... K>
[[gnu::always_inline]] inline void turn(V &v, std::index_sequence<K...>) {
    v = __builtin_shufflevector(v, v, (N - 1 - int(K))...);
}

template<int Bytes, class E>
[[gnu::always_inline]] inline void reverse(E *to, const E *from, int64_t n) {
    constexpr int N = std::min(16, Bytes / int(sizeof(E)));
    typename VectorOf<E, N>::Type v;
    int64_t j = 0;
    for (; j + N <= n; j += N) {
        std::memcpy(&v, from - j - (N - 1), sizeof v);
        turn<N>(v, std::make_index_sequence<N>());
        std::memcpy(to + j, &v, sizeof v);
    }
    for (; j < n; j++)
        to[j] = from[-j];
}

#if defined(__x86_64__)
template<class E>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void transpose_avx512(const Matrix<E> &m) {
    transpose<64>(m);
}
template<class E> [[gnu::target("avx2")]] void transpose_avx2(const Matrix<E> &m) {
    transpose<32>(m);
}
template<class E>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void reverse_avx512(E *to, const E *from,
                                                                          int64_t n) {
    reverse<64>(to, from, n);
}
template<class E> [[gnu::target("avx2")]] void reverse_avx2(E *to, const E *from, int64_t n) {
    reverse<32>(to, from, n);
}
#endif

template<class E> void transpose_any(void *to, const void *from, int64_t rows, int64_t columns,
                                     int64_t to_step, int64_t from_step) {
    const Matrix<E> m{
        static_cast<E *>(to), static_cast<const E *>(from), rows, columns, to_step, from_step};
#if defined(__x86_64__)
    if (active_isa() == Isa::avx512) return transpose_avx512(m);
    if (active_isa() == Isa::avx2) return transpose_avx2(m);
#endif
    transpose<16>(m);
}

template<class E> void reverse_any(void *to, const void *from, int64_t n) {
#if defined(__x86_64__)
    if (active_isa() == Isa::avx512)
        return reverse_avx512(static_cast<E *>(to), static_cast<const E *>(from), n);
    if (active_isa() == Isa::avx2)
        return reverse_avx2(static_cast<E *>(to), static_cast<const E *>(from), n);
#endif
    reverse<16>(static_cast<E *>(to), static_cast<const E *>(from), n);
}

// Calls what(E()) with the unsigned type E of this size.
template<class F> void visit_size(size_t bytes, F what) {
    if (bytes == 1)
        what(uint8_t());
    else if (bytes == 2)
        what(uint16_t());
    else if (bytes == 4)
        what(uint32_t());
    else
        what(uint64_t());
}

}  // namespace

void transpose_elements(void *to, const void *from, int64_t rows, int64_t columns, int64_t to_step,
                        int64_t from_step, size_t element_bytes) {
    visit_size(element_bytes, [&](auto e) {
        transpose_any<decltype(e)>(to, from, rows, columns, to_step, from_step);
    });
}

void reverse_elements(void *to, const void *from, int64_t n, size_t element_bytes) {
    visit_size(element_bytes, [&](auto e) { reverse_any<decltype(e)>(to, from, n); });
}

}  // namespace halyard
