// A graph as a picture, in Graphviz's language.
#pragma once
#include <string>

#include "graph/graph.h"

namespace halyard::graph {

// Returns the text of a directed graph: a box for each node, in a frame for the call of a cell or
// the phase that it belongs to, and an ellipse for each argument, parameter and constant that nodes
// read. Edges have the dtypes and shapes that are read. A dashed edge leads to a tensor from
// outside that a node writes in place.
std::string dot_of(const Graph &graph);

}  // namespace halyard::graph
