// What a network's graph computes from its weights alone. These passes are for graphs whose
// captured tensors never change again.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace halyard::c99 {

// Runs the nodes whose operands are all known, and makes their results constants. A captured tensor
// is known unless a node writes it.
void fold_constants(graph::Graph &graph);

// Multiplies the weights of convolutions by the constant scales of the normalisations that alone
// read them (batch_norm in evaluation), so that only a sum remains. That changes bits of the
// results, within the ops' error bounds. Returns how many it folded. Expects folded constants.
int fold_norms(graph::Graph &graph);

// Returns by buffer the number of operands and outputs that read it.
std::vector<int> reads_of(const graph::Graph &graph);

// Returns a dense tensor with the elements of a view of a constant or captured buffer.
Tensor constant_of(const graph::Graph &graph, const graph::View &view);

}  // namespace halyard::c99
