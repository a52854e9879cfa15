// The functions Halide's kernels call back, as Halyard defines them: loops on the one pool
// (registry/base/parallel.h), scratch from the one memory pool, and errors kept as text instead of
// an abort. Linking registry/base/runtime.cpp overrides Halide's weak versions of
// halide_do_par_for, halide_error, halide_malloc and halide_free.
#pragma once
#include <cstddef>

#include "HalideRuntime.h"

namespace halyard {

// What the last failing kernel call on this thread said (also when a worker thread said it); ""
// before any. A kernel reports failure by its status; this is the text to it. At most 1023 bytes
// are kept.
const char *last_kernel_error();
void clear_kernel_error();

// Loops that follow on this thread belong to this call: what they took is remembered under it.
void announce_call(const void *call);

// For checks: it runs the loops of this thread's kernels that may be parallel, in the pool's place,
// and sees their scratch memory.
class KernelWatch {
public:
    virtual ~KernelWatch() = default;
    // as halide_do_par_for()
    virtual int loop(void *user_context, halide_task_t body, int min, int size,
                     uint8_t *closure) = 0;
    // scratch_margin bytes before and after it are its own as well
    virtual void allocated(char *block, size_t bytes) = 0;
    virtual void released(char *block) = 0;
};
inline constexpr size_t scratch_margin = 64;
void watch_kernels(KernelWatch *watch);  // null: nobody does

}  // namespace halyard
