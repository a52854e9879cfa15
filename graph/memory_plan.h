// The memory of a graph's temporaries.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

struct MemoryPlan {
    std::vector<size_t> offsets;  // by buffer: in bytes from the arena's start; temporaries only
    size_t bytes = 0;             // the arena's
    // The largest sum of the temporaries that are alive at one node, where a result that may lie
    // on an input counts together with it. No plan takes less.
    size_t lower_bound = 0;
    size_t in_place = 0;  // results that lie on an input
};

// Places temporaries whose lifetimes overlap apart: the largest first, each at the lowest offset
// where it fits. Lifetimes must have been found. With `in_place`, the result of an elementwise call
// lies on an input that nothing reads later, element on element, as dispatch_into() allows it
// (registry/dispatch/dispatch.h), where the arena doesn't become larger for it.
MemoryPlan plan_memory(const Graph &graph, bool in_place);

// From so many bytes on, pooled memory is returned to the system before other memory is taken, and
// memory of a program when it is let go: the pool could give the blocks to none but tensors of
// about their size.
inline constexpr size_t large_memory = size_t(32) << 20;

// Returns a new dense tensor of at least this many bytes.
Tensor memory_of(size_t bytes);

}  // namespace halyard::graph
