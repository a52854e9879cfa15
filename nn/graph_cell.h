// Cells that are graphs: of a cell that was captured, without its class.
#pragma once
#include <memory>

#include "graph/graph.h"
#include "nn/cell.h"
#include "nn/wrap.h"

namespace halyard::nn {

// Calls the cell once with these inputs and returns the graph of what it computed, which stands
// alone (graph/standalone.h) and shares the parameters of the cell, with their names. The call
// changes nothing: parameters that it writes, such as running statistics, and the default generator
// are set back. Throws GraphError with the reason if the call can't be captured
// (docs/running.md), AttrError if two parameters have one name.
graph::Graph graph_of_call(const Cell &cell, Tensors in);

// Returns in the same way the graph of a training step, with the optimiser's update; the
// optimiser's state has its names too. The graph takes the numbers of a step from outside
// (graph::number_count()). Throws GraphError for an update that can't be captured, and for one that
// makes other calls in a later step, as RAdam's does.
graph::Graph graph_of_step(const TrainOneStepCell &step, Tensors in);

// Runs a graph, such as one that load_graph() returns (train/checkpoint/saved_graph.h). Inputs must
// have the dtypes and shapes that the graph was captured with; ShapeError or DTypeError otherwise.
// Parameters have their names and can be loaded from checkpoints; they require no gradient, because
// GradError is thrown where one is taken.
class GraphCell : public Cell {
public:
    // Throws GraphError if the graph doesn't stand alone, or takes numbers of a step.
    explicit GraphCell(graph::Graph graph);

    std::vector<Tensor> construct(Tensors in) const override;
    Bprop bprop() const override;
    std::string cls_name() const override { return graph_->name; }

    const graph::Graph &graph() const { return *graph_; }

private:
    std::shared_ptr<const graph::Graph> graph_;
};

}  // namespace halyard::nn
