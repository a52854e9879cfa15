// Draw: the random numbers of one row in one step of a pipeline.
#pragma once
#include <cstdint>

#include "primitives/random.h"

namespace halyard::dataset {

// The stream is a function of (seed, step, pass, row) only, so it depends neither on the number of
// threads nor on where an iterator starts. A row has 2^18 numbers in a step; further draws throw
// AttrError.
class Draw {
public:
    Draw(const Random &stream, uint64_t row) : stream_(stream), row_(row) {}

    // Draws from [0, 1) in steps of 2^-24.
    double uniform();
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    // Draws from 0 to bound - 1. The bound is 1 to 2^31 - 1.
    int64_t below(int64_t bound);
    bool chance(double probability) { return uniform() < probability; }
    double normal();
    // Draws from Beta(a, b), both > 0, as a quotient of gamma variates (Marsaglia and Tsang, 2000).
    double beta(double a, double b);

private:
    uint32_t word();
    double gamma(double shape);

    Random stream_;
    uint64_t row_;
    Words words_ = {};
    uint32_t drawn_ = 0;
};

}  // namespace halyard::dataset
