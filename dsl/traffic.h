// Traffic: the bytes that a scheduled kernel loads and stores, counted in its lowered statement for
// one problem. Nothing runs.
//
// Every load and store counts as often as its loops execute it, whether a cache or a register would
// have served it or not: on a GPU that is what its threads ask of global memory. Loops whose
// bounds, conditions or masks depend on an outer loop are walked iteration by iteration. Conditions
// on data count as true.
#pragma once
#include "dsl/kernel.h"
#include "registry/op/signature.h"

namespace halyard {

struct Traffic {
    struct Bytes {
        int64_t loaded = 0, stored = 0;
    };
    std::map<std::string, Bytes> tensors;  // of the op's inputs and outputs
    // of what the kernel allocates; on a GPU only what lies in global memory
    std::map<std::string, Bytes> scratch;
    Bytes total() const;
};

// Of dense tensors. Throws Error where a loop's bounds depend on data, or the walk would take more
// than 1e8 iterations.
Traffic traffic_of(Kernel &k, const Dims &dims);

}  // namespace halyard
