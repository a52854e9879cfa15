#include "primitives/random.h"

#include <cmath>
#include <mutex>
#include <numbers>

#include "registry/base/fork.h"
#include "registry/tensor/call_listener.h"

namespace halyard {
namespace {

struct Generator {
    Generator() { hold_over_fork(mutex); }
    std::mutex mutex;
    RngState state;
};
Generator &generator() {
    static Generator &g = *new Generator;
    return g;
}

}  // namespace

void set_seed(uint64_t seed) {
    set_rng_state({seed, 0});
}
uint64_t get_seed() {
    return get_rng_state().seed;
}
RngState get_rng_state() {
    Generator &g = generator();
    const std::lock_guard lock(g.mutex);
    return g.state;
}
void set_rng_state(const RngState &state) {
    Generator &g = generator();
    const std::lock_guard lock(g.mutex);
    g.state = state;
}

Random Random::next() {
    Generator &g = generator();
    const std::lock_guard lock(g.mutex);
    const RngState drawn = {g.state.seed, g.state.offset++};
    if (CallListener *listener = call_listener()) listener->drew(drawn);
    return {drawn.seed, drawn.offset};
}

// The counter has 48 bits of k, 16 of the lane and 64 of the offset.
Words Random::block(uint64_t k, uint32_t lane) const {
    return philox_words({uint32_t(k), uint32_t(k >> 32 & 0xffff) | lane << 16,
                         uint32_t(state_.offset), uint32_t(state_.offset >> 32)},
                        {uint32_t(state_.seed), uint32_t(state_.seed >> 32)});
}

// Lemire's method: the result is the high half of word * bound. Words whose low half is below the
// remainder are drawn again; the remainder, which takes a division, is less than bound.
uint32_t Random::below(uint64_t k, uint32_t bound) const {
    for (uint32_t lane = 0;; lane++) {
        for (const uint32_t w : block(k, lane)) {
            const uint64_t product = uint64_t(w) * bound;
            const auto low = uint32_t(product);
            if (low >= bound || low >= (0u - bound) % bound) return uint32_t(product >> 32);
        }
    }
}

std::array<double, 2> normal_pair(uint32_t a, uint32_t b) {
    const double radius = std::sqrt(-2 * std::log((double(a) + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * (double(b) + 0.5) * 0x1p-32;
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace halyard
