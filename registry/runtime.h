// The functions Halide's kernels call back, as Halyard defines them: loops on the one pool (registry/parallel.h), scratch from the
// one memory pool, and errors kept as text instead of an abort. Linking registry/runtime.cpp overrides Halide's weak versions of
// halide_do_par_for, halide_error, halide_malloc and halide_free.
#pragma once

namespace halyard {

// What the last failing kernel call on this thread said (also when a worker thread said it); "" before any.
// A kernel reports failure by its status; this is the text to it. At most 1023 bytes are kept.
const char *last_kernel_error();
void clear_kernel_error();

// Loops that follow on this thread belong to this call: what they took is remembered under it.
void announce_call(const void *call);

}  // namespace halyard
