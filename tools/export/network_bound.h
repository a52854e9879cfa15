// How far the results of a network may be from the kit's: what its ops' error bounds add up to.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace halyard::exporting {

// Returns for each output the largest error that is allowed of its elements: twice the largest
// change of an element in `runs` runs in which each result of an op is moved up or down, by lot, by
// as much as the op's contract allows: ulps of the element, or of its tensor's largest where the
// contract is of sums. The graph reads no memory that it writes in a run before.
std::vector<double> allowed_errors(const graph::Graph &graph, const Tensor &input, int runs = 8);

// Returns the outputs of the graph, computed op by op.
std::vector<Tensor> results_of(const graph::Graph &graph, const Tensor &input);

}  // namespace halyard::exporting
