// Files of captured graphs, for set_context({.save_graphs = true}).
#pragma once
#include "graph/graph.h"

namespace halyard::graph {

// Writes the graph's text into the context's save_graphs_path as captured_0000.ir, ... Throws
// IoError.
void save_graph(const Graph &graph);

}  // namespace halyard::graph
