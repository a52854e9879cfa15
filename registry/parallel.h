// The one thread pool: oneTBB. Halide's loops, hand-written kernels and the data pipeline all run here.
#pragma once
#include <cstdint>
#include <functional>

namespace halyard {

// 0 = all cores. HALYARD_THREADS sets the start value. Results never depend on it.
void set_threads(int n);
int threads();

// body(i) for i in [begin, end), in any order, on the pool; the first exception is rethrown. A range of one runs here.
void parallel_for(int64_t begin, int64_t end, const std::function<void(int64_t)> &body);

}  // namespace halyard
