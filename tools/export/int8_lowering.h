// From a network's graph in f32 to a network in integers.
#pragma once
#include "tools/export/int8_calibration.h"
#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Returns the graph's calls as steps in integers. A bias, a shortcut, relu and relu6 join the step
// whose result they alone read, and a max pool whose windows don't overlap joins a convolution.
// The graph's constants and norms have been folded. `ranges` are those of its activations. Throws
// DispatchError, with the op and its cell, for a call that has no integer form.
Int8Network lowered(const graph::Graph &graph, const std::map<int, Range> &ranges);

}  // namespace halyard::exporting
