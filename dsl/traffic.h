// Traffic: the bytes that a scheduled kernel loads and stores for one problem, counted in its
// lowered statement. The kernel is not compiled or run.
//
// Every load and store counts as often as it is executed, even if a cache or a register would hold
// the value. On a GPU these are the requests of its threads to global memory. If inner bounds,
// conditions or masks depend on a loop, its iterations are counted one by one. Conditions on data
// count as true.
#pragma once
#include "dsl/kernel.h"
#include "registry/op/signature.h"

namespace halyard {

struct Traffic {
    struct Bytes {
        int64_t loaded = 0, stored = 0;
    };
    std::map<std::string, Bytes> tensors;  // by the name of an input or output
    // By the name of an allocation of the kernel; for a GPU, allocations in global memory only.
    std::map<std::string, Bytes> scratch;
    // Returns the sum over all tensors and allocations.
    Bytes total() const;
};

// Returns the traffic of a call with dense tensors; `dims` as for work_of() (dsl/work.h). Throws
// Error if the bounds of a loop depend on data, or more than 1e8 iterations have to be counted one
// by one.
Traffic traffic_of(Kernel &k, const Dims &dims);

}  // namespace halyard
