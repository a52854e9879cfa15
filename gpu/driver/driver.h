// What the model driver offers beside CUDA's interface: C functions of libhalyard_cuda_model.so,
// found with dlsym().
#pragma once
#include <cstdint>

extern "C" {

// Returns what was found since the last call, one finding a line, and what the driver could not do;
// "" if there is nothing. The text lives until the next call.
const char *halyard_cuda_model_findings();

// Returns what launches did since the last call: lines of a name and a number, then
// "OPCODE warps lanes" for each opcode. Lines, and the sectors of blocks and launches, are 0 before
// the first call of halyard_cuda_model_times(). The text lives until the next call.
const char *halyard_cuda_model_counts();

// Returns how long the launches since the last call would take on a GPU (gpu/model/launch_time.h),
// which is a model's answer: a line "MICROSECONDS BLOCKS_AT_ONCE OCCUPANCY DRAM_SHARE KERNEL BOUND"
// for each. Launches are noted from the first call on. Returns "" for a GPU without a profile. The
// text lives until the next call.
const char *halyard_cuda_model_times(const char *gpu);

// Returns the number of calls so far that a context is needed for.
int64_t halyard_cuda_model_calls();
// Makes one of the next such calls, counted from 1, fail with this CUresult. All that follow fail
// with it too, as after a kernel's bad access, until there is a new context; but for 2, which says
// that there is no memory left.
void halyard_cuda_model_fail(int64_t call, int result);

}  // extern "C"
