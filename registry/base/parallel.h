// The one thread pool, oneTBB's. Halide's loops, handwritten kernels and the data pipeline run on
// it.
#pragma once
#include <cstdint>
#include <functional>

namespace halyard {

// Sets the number of threads; 0 stands for all cores. More threads than cores are allowed; a
// negative number or one above 1024 throws AttrError. HALYARD_THREADS is the initial value; a bad
// one throws AttrError at the first use. Results never depend on the number. Running loops keep
// theirs. If the system allows fewer threads, the pool has fewer and a message is logged. A process
// that was forked from one with threads has one thread.
void set_threads(int n);
int threads();

// Calls body(i) for each i in [begin, end), in any order, on the pool, and rethrows the first
// exception. A range of one runs on the calling thread.
void parallel_for(int64_t begin, int64_t end, const std::function<void(int64_t)> &body);

}  // namespace halyard
