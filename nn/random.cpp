#include "nn/random.h"

#include <atomic>
#include <cmath>
#include <numbers>

namespace halyard {
namespace {

std::atomic<uint64_t> global_seed{0}, next_stream{0};

}  // namespace

void set_seed(uint64_t seed) { global_seed = seed, next_stream = 0; }
uint64_t get_seed() { return global_seed; }

namespace nn {

Words philox(Words c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; round++) {
        const uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
        c = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};
        key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
    }
    return c;
}

Random Random::next() { return {global_seed, next_stream++}; }

// Counter: 48 bits of k, 16 of the lane, 64 of the stream. No caller draws 2^48 blocks from one stream.
Words Random::block(uint64_t k, uint32_t lane) const {
    return philox({(uint32_t)k, (uint32_t)(k >> 32 & 0xffff) | lane << 16, (uint32_t)stream_, (uint32_t)(stream_ >> 32)},
                  {(uint32_t)seed_, (uint32_t)(seed_ >> 32)});
}

// Lemire: the high half of word * bound; words whose low half falls into the short remainder are drawn again.
uint32_t Random::below(uint64_t k, uint32_t bound) const {
    const uint32_t refused = (0u - bound) % bound;
    for (uint32_t lane = 0;; lane++) {
        for (const uint32_t w : block(k, lane)) {
            const uint64_t product = (uint64_t)w * bound;
            if ((uint32_t)product >= refused) return (uint32_t)(product >> 32);
        }
    }
}

std::array<double, 2> normal_pair(uint32_t a, uint32_t b) {
    const double radius = std::sqrt(-2 * std::log(((double)a + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * ((double)b + 0.5) * 0x1p-32;
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace nn
}  // namespace halyard
