// Files of captured graphs, for set_context({.save_graphs = true}).
#pragma once
#include "graph/passes.h"

namespace halyard::graph {

// Returns a watch that writes one graph's text and picture as it is recorded and after each pass
// into the context's save_graphs_path: captured_0000_0_recorded.ir and .dot,
// captured_0000_1_without_dead_nodes.ir, ... The watch throws IoError.
PassWatch saving_watch();

}  // namespace halyard::graph
