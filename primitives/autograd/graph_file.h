// Files of the graphs that tapes record, for set_context({.save_graphs = true}).
#pragma once
#include "primitives/autograd/tape.h"

namespace halyard {

// Returns the graph in Graphviz's language. Ops are boxes, tensors that no op made are ellipses,
// and edges have the shape of their tensor.
std::string dot_of(const TapeGraph &graph);

// Writes the graph into the context's save_graphs_path as graph_0000.dot, ... A graph that this
// process has saved before is skipped, so that a training loop writes one file, not one per step.
// Throws IoError.
void save_graph(const TapeGraph &graph);

}  // namespace halyard
