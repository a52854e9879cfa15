// Draw: the random numbers of one row in one step of a pipeline.
#pragma once
#include <cstdint>

#include "primitives/random.h"

namespace halyard::dataset {

// A stream that is a function of (seed, step, pass, row) alone: what a transform draws doesn't
// depend on how many threads there are, nor on where an iterator began. A row has 2^18 numbers in a
// step; AttrError past them.
class Draw {
public:
    Draw(const Random &stream, uint64_t row) : stream_(stream), row_(row) {}

    double uniform();  // [0, 1), in steps of 2^-24
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    int64_t below(int64_t bound);  // 0 to bound - 1; bound: 1 to 2^31-1
    bool chance(double probability) { return uniform() < probability; }
    double normal();
    // both > 0: the quotient of two gamma variates (Marsaglia and Tsang, 2000)
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
