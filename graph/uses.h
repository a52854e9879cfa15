// Which nodes of a graph use each buffer.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

// By buffer: the places of the nodes that write and read it, in their order. The caller, who reads
// what the graph returns, is the place after the last node.
struct Uses {
    explicit Uses(const Graph &graph);
    std::vector<std::vector<size_t>> writers, readers;
};

// Returns true if a node between the two may write the buffer. An argument of a later run may be
// the memory of a tensor from outside.
bool is_written_between(const Graph &graph, int buffer, size_t first, size_t last);

}  // namespace halyard::graph
