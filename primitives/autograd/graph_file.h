// Graphs of what a tape remembers, for set_context({.save_graphs = true}).
#pragma once
#include "primitives/autograd/tape.h"

namespace halyard {

// In Graphviz's language: an op is a box, a tensor that gradients were asked in and no op made an
// ellipse, an edge has the shape that passes.
std::string dot_of(const TapeGraph &graph);

// Into the context's save_graphs_path as graph_0000.dot, ...; only a graph that this process hasn't
// saved yet, so that a training loop writes one file and not one per step. Throws IoError.
void save_graph(const TapeGraph &graph);

}  // namespace halyard
