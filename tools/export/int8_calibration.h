// The ranges of a network's activations on some rows of data.
#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"

namespace halyard::exporting {

struct Range {
    float low = 0, high = 0;  // low <= 0 <= high
};

// Returns the least and the largest element of the input and of each call's result, by buffer. Each
// of `inputs` has the input's shape. Throws Error, with the op and its cell, for elements that
// aren't finite: of the graph's weights, of an input, of a result.
std::map<int, Range> calibrated(const graph::Graph &graph, const std::vector<Tensor> &inputs);

}  // namespace halyard::exporting
