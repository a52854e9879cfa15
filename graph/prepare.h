// Nodes that compute something of parameters alone, such as the factors of a batch normalization of
// inference: a program runs them when a parameter has changed, and keeps their results.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

// What parameters alone determine: 1 for each such buffer and node.
struct OfParameters {
    // Constants, captured tensors that the graph doesn't write, and what only `nodes` write.
    std::vector<char> buffers;
    // Those that read nothing else. Their results are temporaries, not much larger than what they
    // read. Nodes on the host, those that draw random numbers and those with a number of the step
    // are none.
    std::vector<char> nodes;
};
// A graph that writes to an argument has none of either, because that may be any tensor.
OfParameters find_of_parameters(const Graph &graph);

// Gives the results of nodes that parameters alone determine the role `prepared`.
void mark_prepared(Graph &graph);

// Returns true for a node whose results are prepared.
inline bool is_prepared(const Graph &graph, const Node &n) {
    return !n.out.empty() && graph.buffers[size_t(n.out[0].buffer)].role == Role::prepared;
}

// Prepared nodes that have no memory in common with those of other groups. When a source of a group
// has changed, all of its nodes run, in their order, because one may write what another one reads.
struct PreparedGroup {
    std::vector<size_t> nodes;
    std::vector<size_t> sources;  // buffers: the captured tensors that they read
};
std::vector<PreparedGroup> prepared_groups(const Graph &graph);

}  // namespace halyard::graph
