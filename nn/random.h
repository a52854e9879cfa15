// Random numbers by counter: number k of a stream is a pure function of (seed, stream, k), so nothing depends on threads or order.
// Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once
#include <array>
#include <cstdint>

namespace halyard {

// The seed of everything random (initialisers, dropout, shuffles); streams are handed out from 0 again. The start value is 0.
void set_seed(uint64_t seed);
uint64_t get_seed();

namespace nn {

using Words = std::array<uint32_t, 4>;
Words philox(Words counter, std::array<uint32_t, 2> key);

class Random {
public:
    Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
    static Random next();  // the global seed, a stream that nobody had since set_seed()

    // Four words; `lane` tells apart several blocks that one element needs.
    Words block(uint64_t k, uint32_t lane = 0) const;
    uint32_t below(uint64_t k, uint32_t bound) const;  // uniform in [0, bound), unbiased; bound >= 1

    uint64_t seed() const { return seed_; }
    uint64_t stream() const { return stream_; }

private:
    uint64_t seed_, stream_;
};

// [0, 1) in steps of 2^-24.
inline double uniform(uint32_t word) { return (double)(word >> 8) * 0x1p-24; }
// Two independent standard normals of two words (Box and Muller), |v| <= 6.7.
std::array<double, 2> normal_pair(uint32_t a, uint32_t b);

}  // namespace nn
}  // namespace halyard
