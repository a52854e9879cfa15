// Records the calls that an op's samples make of one kernel, so that another process can repeat
// them.
#pragma once
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

// Compiles the kernel and records all samples that it accepts and whose tensors and operations are
// at most `work` (the smallest in any case). They are planned as dispatch plans them, with this
// kernel as the only one. Throws Error if the kernel or the op rejects them.
SampleCalls record_samples(const Op &op, Kernel &kernel, int64_t work);

}  // namespace halyard::check
