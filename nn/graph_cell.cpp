#include "nn/graph_cell.h"

#include <algorithm>
#include <map>

#include "graph/call_by_call.h"
#include "graph/capture.h"
#include "graph/graph_error.h"
#include "graph/passes.h"
#include "graph/standalone.h"
#include "primitives/autograd/tape.h"
#include "primitives/random.h"

namespace halyard::nn {
namespace {

using NamedParameters = std::vector<std::pair<std::string, Tensor>>;

// Sets parameters and the default generator to what they were, at the end of the scope.
class Unchanged {
public:
    explicit Unchanged(const NamedParameters &parameters) : parameters_(parameters) {
        for (const auto &[name, value] : parameters)
            before_.push_back(value.copy());
    }
    ~Unchanged() {
        for (size_t k = 0; k < before_.size(); k++)
            parameters_[k].second.assign(before_[k]);
        set_rng_state(generator_);
    }
    Unchanged(const Unchanged &) = delete;
    Unchanged &operator=(const Unchanged &) = delete;

private:
    const NamedParameters &parameters_;
    std::vector<Tensor> before_;
    const RngState generator_ = get_rng_state();
};

graph::Graph captured(const Cell &cell, Tensors in, const NamedParameters &named) {
    std::vector<Tensor> arguments;
    for (const Tensor &t : in)
        arguments.push_back(t.defined() ? t.copy() : t);
    const StopTape stop;
    graph::Capture capture(cell.cls_name(), arguments);
    capture.run([&](Tensors x) { return cell.call(x); });
    if (!capture.reason().empty())
        throw GraphError("graph", cell.cls_name() + " can't be captured: " + capture.reason());
    graph::Graph graph = capture.take();
    graph::name_captured(graph, named);
    graph::run_passes(graph);
    graph::make_standalone(graph, named);
    return graph;
}

}  // namespace

graph::Graph graph_of_call(const Cell &cell, Tensors in) {
    NamedParameters named;
    for (const auto &[name, parameter] : cell.parameters_dict())
        named.emplace_back(name, parameter.data());
    const Unchanged unchanged(named);
    graph::Graph graph = captured(cell, in, named);
    if (graph::number_count(graph) > 0) {
        throw GraphError("graph", cell.cls_name() + " has the update of an optimiser: "
                                                    "export_step() saves a training step");
    }
    return graph;
}

graph::Graph graph_of_step(const TrainOneStepCell &step, Tensors in) {
    const Optimizer &optimizer = step.optimizer();
    if (!optimizer.is_captured()) {
        throw GraphError("graph",
                         "the update can't be captured: its rule doesn't state the numbers of its "
                         "steps, or a function gets the gradients");
    }
    NamedParameters named;
    for (const ParameterTuple &some : {step.network().get_parameters(), optimizer.get_parameters()})
        for (const Parameter &p : some)
            named.emplace_back(p.name(), p.data());
    const Unchanged unchanged(named);
    if (!optimizer.repeats_its_calls())
        throw GraphError("graph", "a later step of the optimiser makes other calls than this one");
    return captured(step, in, named);
}

namespace {

// Parameters whose names begin with the same words.
struct Group {
    NamedParameters own;
    std::map<std::string, Group> below;

    void add(const std::string &name, const Tensor &value) {
        const size_t dot = name.find('.');
        if (dot == std::string::npos)
            own.emplace_back(name, value);
        else
            below[name.substr(0, dot)].add(name.substr(dot + 1), value);
    }
};

// Has the place of a cell whose class is not known.
class PartOfGraph : public Cell {
public:
    explicit PartOfGraph(const Group &group) {
        for (const auto &[name, value] : group.own)
            parameter(name, value, false);
        for (const auto &[name, part] : group.below)
            child(name, PartOfGraph(part));
    }
};

[[noreturn]] void no_gradient(const std::string &name) {
    throw GradError("GraphCell",
                    name + " is a graph, of which no gradient is taken: take it of the cell that "
                           "the graph was captured from, or of a cell that is captured with its "
                           "gradients");
}

// Returns the argument as the graph takes it.
Tensor checked_argument(const graph::Graph &graph, const graph::Buffer &b, const Tensor &t) {
    const std::string what = "input " + std::to_string(b.input);
    if (!t.defined()) throw ShapeError(graph.name, what + " is an undefined tensor");
    if (!(t.shape() == b.shape)) {
        throw ShapeError(graph.name, what + " has shape " + t.shape().text() +
                                         ", but the graph was captured with " + b.shape.text());
    }
    if (t.dtype() != b.dtype) {
        throw DTypeError(graph.name, what + " is " + name_of(t.dtype()) +
                                         ", but the graph was captured with " + name_of(b.dtype));
    }
    return t.contiguous();
}

}  // namespace

GraphCell::GraphCell(graph::Graph graph) {
    graph::check_standalone(graph);
    if (graph::number_count(graph) > 0) {
        throw GraphError("graph", graph.name + " takes numbers in each step, as learning rates, "
                                               "which a GraphCell can't set: `halyard compile` "
                                               "makes a library of it");
    }
    graph_ = std::make_shared<const graph::Graph>(std::move(graph));
    Group all;
    for (const graph::Buffer &b : graph_->buffers)
        if (!b.name.empty()) all.add(b.name, b.held);
    for (const auto &[name, value] : all.own)
        parameter(name, value, false);
    for (const auto &[name, part] : all.below)
        child(name, PartOfGraph(part));
}

std::vector<Tensor> GraphCell::construct(Tensors in) const {
    size_t most = 0;
    for (const graph::Buffer &b : graph_->buffers)
        if (b.role == graph::Role::input) most = std::max(most, size_t(b.input) + 1);
    size_t given = in.size();
    while (given > most && !in[given - 1].defined())
        given--;  // was left out, as in the captured call
    if (given != most) {
        throw ShapeError(graph_->name, "inputs are " + std::to_string(given) +
                                           " tensors, but the graph was captured with " +
                                           std::to_string(most));
    }
    std::vector<Tensor> arguments(in.begin(), in.end());
    for (const graph::Buffer &b : graph_->buffers) {
        if (b.role != graph::Role::input) continue;
        Tensor &argument = arguments[size_t(b.input)];
        argument = checked_argument(*graph_, b, argument);
    }
    return graph::run_call_by_call(*graph_, arguments);
}

Cell::Bprop GraphCell::bprop() const {
    return [name = graph_->name](Tensors, Tensors, Tensors) -> std::vector<Tensor> {
        no_gradient(name);
    };
}

}  // namespace halyard::nn
