// Random numbers by counter: number k at (seed, offset) is a pure function of the three, so nothing
// depends on threads or order. Everything random in a program (initialisers, dropout, shuffles, the
// random ops) draws from here.
#pragma once
#include <array>
#include <cstdint>

#include "registry/base/philox.h"

namespace halyard {

// The state of the default generator: who draws gets the seed and an offset, and the next one the
// offset after it.
struct RngState {
    uint64_t seed = 0, offset = 0;
    bool operator==(const RngState &) const = default;
};

void set_seed(uint64_t seed);  // and offset 0
uint64_t get_seed();
RngState get_rng_state();  // what the next draw gets
void set_rng_state(const RngState &state);

class Random {
public:
    Random(uint64_t seed, uint64_t offset) : state_{seed, offset} {}
    static Random next();  // of the default generator

    // Four words; `lane` tells apart several blocks that one element needs. k < 2^48.
    Words block(uint64_t k, uint32_t lane = 0) const;
    // uniform in [0, bound), unbiased; bound >= 1
    uint32_t below(uint64_t k, uint32_t bound) const;

    const RngState &state() const { return state_; }

private:
    RngState state_;
};

// Two independent standard normals of two words (Box and Muller), |v| <= 6.7.
std::array<double, 2> normal_pair(uint32_t a, uint32_t b);

}  // namespace halyard
