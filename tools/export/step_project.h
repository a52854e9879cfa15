// The project that `halyard compile` writes: a captured graph, such as a training step, as a
// library with the kernels that it calls.
#pragma once
#include "graph/graph.h"
#include "tools/export/project.h"

namespace halyard::exporting {

// Writes the project of a graph that stands alone. Compiles kernels as KernelArchive does. Throws
// GraphError, which names it, for what the library can't do: steps on the host that sort, inputs
// that are left out, and results that are not dense tensors of their own. Then nothing is written.
Written write_step_project(const Project &project, const graph::Graph &graph, size_t jobs);

}  // namespace halyard::exporting
