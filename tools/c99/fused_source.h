// A call and the elementwise calls and pools after it, as one function in C99.
#pragma once
#include "graph/graph.h"
#include "tools/c99/call_source.h"

namespace halyard::c99 {

// A graph whose nodes may be made of several calls.
struct FusedGraph {
    // A fused node has the first call's op, the operands of all calls but for those that are
    // results of its own, and the last call's output.
    graph::Graph graph;
    std::vector<std::vector<graph::Node>> parts;  // by node: the nodes that it is made of
};

// Returns the graph with elementwise calls, and pools of 2x2 windows, computed by the node whose
// result they alone read, if one function can. The results keep their bits.
FusedGraph fused(graph::Graph graph);
// Returns the graph without fusion.
FusedGraph not_fused(graph::Graph graph);

// Returns the source of a node that is made of several calls.
CallSource source_of(const std::vector<graph::Node> &parts, const std::string &name,
                     int64_t arena_begin, int lanes);

}  // namespace halyard::c99
