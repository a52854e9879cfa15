// Regions: calls that one kernel can compute without writing what stays inside
// (graph/fused_kernels.h makes it). They are calls of elementwise ops; a reduction may be the last.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

// Returns why calls of the op are in no region: "isn't elementwise"; "" if they may be.
std::string unfusible_reason(const RegisteredOp &op);
// Returns true for a reduction of one tensor, which may be the last call of a region.
bool may_end_region(const RegisteredOp &op);

// Makes the record of a region's kernel from that of the chain's elementwise ops: with a reduction
// at the end, calls are planned as the reduction's.
void end_with(OpRecord &chain, const OpRecord &reduction);

struct Region {
    std::vector<size_t>
        nodes;  // its calls, in their order; the kernel runs in the last one's place
    std::vector<View> in, out;
    // The kernel, as a chain of ops (dsl/chain.h): "t0 = mul(i0, i1); t1 = tanh(t0)", whose results
    // `outputs` are written. Its attributes are those of the calls, in order; a reduction's stand
    // in the text: "t2 = reduce_sum(t1) axis=1 keep_dims=0".
    std::string body;
    std::vector<std::string> outputs;
    std::vector<double> numbers;  // the values of the elementwise calls' attributes now

    // Names the kernel together with the tensors it is for: regions with the same text share it.
    std::string text() const;
};

// Returns the regions of two calls or more, in the order of their places. They have no call in
// common, and moving each call to its region's place changes no result.
std::vector<Region> find_regions(const Graph &graph);

// Replaces the calls of a region by one of `op`.
struct Fused {
    const Region *region = nullptr;
    const RegisteredOp *op = nullptr;
};
Graph with_fused(const Graph &graph, const std::vector<Fused> &fused);

}  // namespace halyard::graph
