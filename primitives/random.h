// The process's random state, as dropout draws from it: a seed and the number of draws so far. Thread-safe.
#pragma once
#include <cstdint>

namespace halyard {

void set_seed(uint32_t seed);  // and starts counting draws again: equal seeds give equal runs

struct RandomDraw { uint32_t seed, offset; };
RandomDraw next_draw();        // no two alike until the seed is set or 2^32 draws have passed

}  // namespace halyard
