// A network's graph, run node by node, so that each result can be looked at or changed.
#pragma once
#include <functional>
#include <vector>

#include "graph/graph.h"

namespace halyard::exporting {

// The graph reads no memory that it writes in a run before, and lives longer than this.
class OpByOp {
public:
    // Gets each result of a call, which it may change.
    using Watch = std::function<void(const graph::Node &, const Tensor &)>;

    explicit OpByOp(const graph::Graph &graph);

    // Returns the graph's outputs for an input of the captured one's shape and dtype. Throws Error
    // for a step on the host.
    std::vector<Tensor> run(const Tensor &input, const Watch &watch) const;

private:
    const graph::Graph &graph_;
    std::vector<Tensor> memories_;  // by buffer; an input's is undefined

    std::vector<Tensor> tensors_of(const std::vector<graph::View> &views,
                                   const Tensor &input) const;
};

}  // namespace halyard::exporting
