#include "bench/roofs/peaks.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in GCC 12's own header (bug 105593)
#include <immintrin.h>
#pragma GCC diagnostic pop

namespace halyard::roofs {
namespace {

// Enough chains to hide a latency of 4 to 6 cycles of two units, and few enough for 16 registers
// together with a and b.
constexpr int chains = 12;

// Makes the compiler treat the value as unknown.
#define HALYARD_OPAQUE(v) asm volatile("" : "+x"(v))

// Defines one function per ISA. A macro, because functions can't be inlined across targets.
// `operand` is what chain c multiplies by.
#define HALYARD_CHAINS(name, isa_text, V, operand)                                                 \
    [[gnu::target(isa_text)]] int64_t name([[maybe_unused]] const uint16_t *from,                  \
                                           int64_t rounds) {                                       \
        V x[chains], a{}, b{};                                                                     \
        HALYARD_OPAQUE(a);                                                                         \
        HALYARD_OPAQUE(b);                                                                         \
        _Pragma("GCC unroll 12") for (int c = 0; c < chains; c++) {                                \
            x[c] = a;                                                                              \
            HALYARD_OPAQUE(x[c]);                                                                  \
        }                                                                                          \
        for (int64_t r = 0; r < rounds; r++) {                                                     \
            _Pragma("GCC unroll 12") for (int c = 0; c < chains; c++) x[c] = x[c] * (operand) + b; \
            asm volatile("" : "+r"(from));                                                         \
        }                                                                                          \
        _Pragma("GCC unroll 12") for (int c = 1; c < chains; c++) x[0] += x[c];                    \
        HALYARD_OPAQUE(x[0]);                                                                      \
        return rounds * chains * 2 * (int64_t)(sizeof(V) / sizeof(x[0][0]));                       \
    }

using F4 = float __attribute__((vector_size(16)));
using F8 = float __attribute__((vector_size(32)));
using F16 = float __attribute__((vector_size(64)));
using D2 = double __attribute__((vector_size(16)));
using D4 = double __attribute__((vector_size(32)));
using D8 = double __attribute__((vector_size(64)));

#define HALYARD_AVX2 "avx2,fma,f16c"
#define HALYARD_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"
HALYARD_CHAINS(f32_baseline, "sse2", F4, a)
HALYARD_CHAINS(f64_baseline, "sse2", D2, a)
HALYARD_CHAINS(f32_avx2, HALYARD_AVX2, F8, a)
HALYARD_CHAINS(f64_avx2, HALYARD_AVX2, D4, a)
HALYARD_CHAINS(f32_avx512, HALYARD_AVX512, F16, a)
HALYARD_CHAINS(f64_avx512, HALYARD_AVX512, D8, a)
HALYARD_CHAINS(f16_avx2, HALYARD_AVX2, F8,
               (F8)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 8 * c))))
HALYARD_CHAINS(f16_avx512, HALYARD_AVX512, F16,
               (F16)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + 16 * c))))
HALYARD_CHAINS(bf16_avx2, HALYARD_AVX2, F8,
               (F8)_mm256_slli_epi32(
                   _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from + 8 * c))), 16))
HALYARD_CHAINS(bf16_avx512, HALYARD_AVX512, F16,
               (F16)_mm512_slli_epi32(
                   _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(from + 16 * c))), 16))
#undef HALYARD_CHAINS
#undef HALYARD_OPAQUE

}  // namespace

int64_t multiply_add(Isa isa, DType t, int64_t rounds) {
    static const uint16_t zeros[16 * chains] = {};
    using Chains = int64_t (*)(const uint16_t *, int64_t);
    const auto of = [isa](Chains baseline, Chains avx2, Chains avx512) {
        return isa == Isa::avx512 ? avx512 : isa == Isa::avx2 ? avx2 : baseline;
    };
    Chains run = nullptr;
    if (t == DType::f32) run = of(f32_baseline, f32_avx2, f32_avx512);
    if (t == DType::f64) run = of(f64_baseline, f64_avx2, f64_avx512);
    if (t == DType::f16) run = of(nullptr, f16_avx2, f16_avx512);
    if (t == DType::bf16) run = of(nullptr, bf16_avx2, bf16_avx512);
    return run ? run(zeros, rounds) : 0;
}

}  // namespace halyard::roofs
