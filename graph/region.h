// Regions: calls of elementwise ops whose results only they read, so that one kernel can compute
// them without writing what stays inside (graph/fused_kernels.h makes it).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

// Returns why calls of the op are in no region: "isn't elementwise"; "" if they may be.
std::string unfusible_reason(const RegisteredOp &op);

struct Region {
    std::vector<size_t>
        nodes;  // its calls, in their order; the kernel runs in the last one's place
    std::vector<View> in, out;
    // The kernel, as a chain of ops (dsl/chain.h): "t0 = mul(i0, i1); t1 = tanh(t0)", whose results
    // `outputs` are written. Its attributes are those of the calls, in order.
    std::string body;
    std::vector<std::string> outputs;
    std::vector<double> numbers;  // the values of the attributes now

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
