// The memory of a graph's temporaries.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

struct MemoryPlan {
    std::vector<size_t> offsets;  // by buffer: in bytes from the arena's start; temporaries only
    size_t bytes = 0;             // the arena's
    // The largest sum of the temporaries that are alive at one node. No plan takes less.
    size_t lower_bound = 0;
};

// Places temporaries whose lifetimes overlap apart: the largest first, each at the lowest offset
// where it fits. Lifetimes must have been found.
MemoryPlan plan_memory(const Graph &graph);

// Returns a new dense tensor of at least this many bytes.
Tensor memory_of(size_t bytes);

}  // namespace halyard::graph
