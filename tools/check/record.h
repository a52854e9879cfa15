// Records the calls that an op's samples make of one kernel, for a process of its own to make
// again.
#pragma once
#include "dsl/kernel.h"
#include "tools/check/runner/recording.h"

namespace halyard::check {

struct SampleCalls {
    Recording recording;
    std::vector<std::string> samples;  // of each call
};

// All samples that the kernel takes and whose tensors and operations are at most `work` (the
// smallest in any case), planned as dispatch plans them, with this kernel as the only one there is.
// Compiles it. Throws Error where the kernel or the op refuses.
SampleCalls record_samples(const Op &op, Kernel &kernel, int64_t work);

}  // namespace halyard::check
