// The functions that Halide's kernels call back. Parallel loops run on the one thread pool
// (registry/base/parallel.h), scratch memory comes from the memory pool, and errors are kept as
// text instead of ending the process. Linking registry/base/runtime.cpp overrides Halide's weak
// versions of halide_do_par_for, halide_error, halide_malloc and halide_free.
#pragma once
#include <cstddef>

#include "HalideRuntime.h"

namespace halyard {

// Returns the message of the last kernel call that failed on this thread, at most 1023 bytes; ""
// before any. Errors on worker threads are reported on the thread that made the call.
const char *last_kernel_error();
void clear_kernel_error();

// Attributes the parallel loops that follow on this thread to `call`. Their times are remembered,
// to decide whether the next call runs them in parallel.
void announce_call(const void *call);

// While it lives, with `on`, the parallel loops of this thread's kernels run on this thread: those
// of callers that run several kernels at once, each on a thread.
class SerialKernels {
public:
    explicit SerialKernels(bool on);
    ~SerialKernels();
    SerialKernels(const SerialKernels &) = delete;
    SerialKernels &operator=(const SerialKernels &) = delete;

private:
    const bool before_;
};

// An observer for checks. It runs the parallel loops of this thread's kernels in place of the pool,
// and is told of their scratch memory.
class KernelWatch {
public:
    virtual ~KernelWatch() = default;
    // Runs a loop, as halide_do_par_for() does.
    virtual int loop(void *user_context, halide_task_t body, int min, int size,
                     uint8_t *closure) = 0;
    // The scratch_margin bytes before and after the block belong to it as well.
    virtual void allocated(char *block, size_t bytes) = 0;
    virtual void released(char *block) = 0;
};
inline constexpr size_t scratch_margin = 64;
void watch_kernels(KernelWatch *watch);  // null ends it

}  // namespace halyard
