// The one thread pool: oneTBB. Halide's loops, hand-written kernels and the data pipeline all run
// here.
#pragma once
#include <cstdint>
#include <functional>

namespace halyard {

// 0 = all cores; more threads than cores is allowed, more than 1024 or a negative number is an
// AttrError. HALYARD_THREADS sets the start value; a bad one is an AttrError at the first use.
// Results never depend on it. Loops that run meanwhile keep their number. Where the system allows
// fewer threads there are fewer, and the log says so; a process that was forked from one with
// threads has one.
void set_threads(int n);
int threads();

// body(i) for i in [begin, end), in any order, on the pool; the first exception is rethrown. A
// range of one runs here.
void parallel_for(int64_t begin, int64_t end, const std::function<void(int64_t)> &body);

}  // namespace halyard
