// Runs a graph as the function ran that it was captured from, call by call.
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

// Returns the results for arguments of the dtypes and shapes that the graph was captured with.
// Temporaries live from the first node that uses them to the last. The calls are heard, so a
// capture may contain them. The graph must stand alone (graph/standalone.h). Throws GraphError if
// a step on the host gives another shape or dtype than it did, and what the calls throw.
std::vector<Tensor> run_call_by_call(const Graph &graph, std::span<const Tensor> arguments);

}  // namespace halyard::graph
