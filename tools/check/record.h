// Records the calls that an op's samples make of one kernel, so that another process can repeat
// them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "tools/check/runner/recording.h"

namespace halyard::check {

struct Case;  // bench/harness/case.h

struct SampleCalls {
    Recording recording;
    std::vector<std::string> samples;  // of each call
};

// Returns true if an input or output of the case has no elements.
bool has_empty_tensor(const Case &c);

struct SampleLimits {
    int64_t work;                  // elements of a tensor, and operations
    int64_t smallest = INT64_MAX;  // the same, of the smallest sample that the kernel accepts
    size_t samples = SIZE_MAX;     // spread evenly from the smallest to the largest
};

// Compiles the kernel and records the samples that it accepts within the limits. They are planned
// as dispatch plans them, with this kernel as the only one. Throws Error if the kernel or the op
// rejects them.
SampleCalls record_samples(const Op &op, Kernel &kernel, const SampleLimits &limits);

}  // namespace halyard::check
