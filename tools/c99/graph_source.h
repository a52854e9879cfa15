// Calls of any op as C99. A composite's is that of the calls, copies and fills that it is made of,
// captured as a graph.
#pragma once
#include "tools/c99/fused_source.h"

namespace halyard::c99 {

// Returns the source of a captured graph: a function of its arguments, which are dense and have the
// dtypes and shapes of `inputs`, and of its outputs. Temporaries stand in the arena, by the graph's
// plan of memory; what the graph captured is in CallSource::constants. The graph has gone through
// its passes (graph/passes.h). `lanes` are those of FixedCall. Throws Error, with the reason, if a
// part can't be stated in C99: a step on the host, random numbers.
CallSource source_of(const FusedGraph &graph, const Signature &signature,
                     const std::vector<graph::View> &inputs, const std::string &name,
                     int lanes = 1);

// Returns the source of a call with these inputs, which are dense. A composite is run once, and
// captured. Throws Error, with the reason.
CallSource source_of_call(const RegisteredOp &op, const std::vector<Tensor> &in, const Attrs &attrs,
                          const std::string &name);

}  // namespace halyard::c99
