// How many rows a network classifies right, in f32 and in integers.
#pragma once
#include <functional>
#include <vector>

#include "graph/graph.h"
#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Rows of a data set: x has the network's input's shape, and a label for each of its first rows;
// the others are there to fill it.
struct LabelledInput {
    Tensor x;
    std::vector<int32_t> labels;
};

// Sets the next input. Returns false if there is none.
using NextInput = std::function<bool(LabelledInput &)>;

struct Accuracy {
    int64_t rows = 0, right_in_f32 = 0, right_in_i8 = 0;
};

// Runs both on the inputs, of a large network on as many as the reference computes in minutes. Of
// equal outputs of a row the first counts. Throws ShapeError unless the output is [n,classes],
// AttrError for a label that is no class.
Accuracy accuracy_of(const graph::Graph &graph, const Int8Network &network, const NextInput &next);

// Returns the root mean square of the differences between both outputs, over that of the output in
// f32; of the inputs, or the first of them if the network is large.
double relative_error(const graph::Graph &graph, const Int8Network &network,
                      const std::vector<Tensor> &inputs);

}  // namespace halyard::exporting
