// A graph that stands alone: it can be kept apart from the function that it was captured from.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

// Removes buffers that nothing uses, except arguments, and makes the held tensors dense: one that
// is in the memory of a named tensor becomes that tensor, any other one becomes a view of the
// elements that the graph uses. The nodes keep the places of a step's numbers, which the caller of
// a run sets. The sources of these numbers are removed, and so are the nodes that count steps,
// because only a source reads the count.
void make_standalone(Graph &graph, const std::vector<std::pair<std::string, Tensor>> &named);

// Returns how many numbers a run takes from outside, such as learning rates; 0 for most graphs.
size_t number_count(const Graph &graph);

// Throws GraphError unless the graph can be run on any memory: every view lies inside of its
// buffer, temporaries and results are written before they are read, and constants and tensors from
// outside are held.
void check_standalone(const Graph &graph);

}  // namespace halyard::graph
