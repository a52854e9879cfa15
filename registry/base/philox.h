// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011) computes four random words from a counter and a key. It is a pure function, so results
// don't depend on threads or order. Kernels use the same function in dsl/math/philox.h.
#pragma once
#include <array>
#include <cstdint>

namespace halyard {

namespace philox {
inline constexpr uint32_t multipliers[2] = {0xD2511F53, 0xCD9E8D57},
                          weyl[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int rounds = 10;
}  // namespace philox

using Words = std::array<uint32_t, 4>;

inline Words philox_words(Words c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < philox::rounds; round++) {
        const uint64_t a = uint64_t(philox::multipliers[0]) * c[0];
        const uint64_t b = uint64_t(philox::multipliers[1]) * c[2];
        c = {uint32_t(b >> 32) ^ c[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ key[1],
             uint32_t(a)};
        key[0] += philox::weyl[0];
        key[1] += philox::weyl[1];
    }
    return c;
}

// Returns a number in [0, 1), a multiple of 2^-24.
inline double uniform(uint32_t word) {
    return double(word >> 8) * 0x1p-24;
}

}  // namespace halyard
