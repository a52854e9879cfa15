// Random numbers from a counter: number k at (seed, offset) is a pure function of the three, so
// results don't depend on threads or order. Initialisers, dropout, shuffles and the random ops all
// use it.
#pragma once
#include <array>
#include <cstdint>

#include "registry/base/philox.h"

namespace halyard {

// The state of the default generator. Each draw takes the seed and the offset, and increments the
// offset.
struct RngState {
    uint64_t seed = 0, offset = 0;
    bool operator==(const RngState &) const = default;
};

void set_seed(uint64_t seed);  // sets the offset to 0
uint64_t get_seed();
RngState get_rng_state();  // the state of the next draw
void set_rng_state(const RngState &state);

class Random {
public:
    Random(uint64_t seed, uint64_t offset) : state_{seed, offset} {}
    static Random next();  // draws from the default generator

    // Returns four random words for element k < 2^48; `lane` is the number of the block for
    // elements that need several.
    Words block(uint64_t k, uint32_t lane = 0) const;
    // Returns an unbiased uniform integer in [0, bound); bound >= 1.
    uint32_t below(uint64_t k, uint32_t bound) const;

    const RngState &state() const { return state_; }

private:
    RngState state_;
};

// Returns two independent standard normal numbers from two words (Box and Muller); |v| <= 6.7.
std::array<double, 2> normal_pair(uint32_t a, uint32_t b);

}  // namespace halyard
