#include "tools/export/network_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"

namespace halyard::exporting {
namespace {

using graph::Buffer;
using graph::Graph;
using graph::Node;
using graph::Role;
using graph::View;

float *floats_of(const Tensor &t) {
    return static_cast<float *>(t.raw());
}

// Runs the nodes of a graph one by one, in memory of its own.
class OpByOp {
public:
    // Gets each result of a call.
    using Change = std::function<void(const Node &, const Tensor &)>;

    OpByOp(const Graph &graph, const Tensor &input) : graph_(graph) {
        for (const Buffer &b : graph.buffers) {
            const bool is_held = b.role == Role::captured || b.role == Role::constant;
            const Tensor memory = b.role == Role::input ? input.copy()
                                  : is_held             ? b.held
                                            : Tensor::empty({int64_t(b.bytes)}, DType::u8);
            memories_.push_back(memory);
        }
    }

    std::vector<Tensor> run(const Change &change) const {
        for (const Node &n : graph_.nodes) {
            const std::vector<Tensor> in = tensors_of(n.in), out = tensors_of(n.out);
            run_node(n, in, out);
            for (const Tensor &t : out)
                if (n.kind == Node::Kind::call) change(n, t);
        }
        std::vector<Tensor> results;
        for (const Tensor &t : tensors_of(graph_.outputs))
            results.push_back(t.copy());
        return results;
    }

private:
    const Graph &graph_;
    std::vector<Tensor> memories_;  // by buffer

    std::vector<Tensor> tensors_of(const std::vector<View> &views) const {
        std::vector<Tensor> tensors;
        for (const View &v : views) {
            const Tensor &memory = memories_[size_t(v.buffer)];
            tensors.push_back(memory.with_memory(v.dtype, v.shape, v.strides, v.offset));
        }
        return tensors;
    }

    static void run_node(const Node &n, const std::vector<Tensor> &in,
                         const std::vector<Tensor> &out) {
        switch (n.kind) {
        case Node::Kind::call: return dispatch_into(*n.op, in, *n.attrs, out);
        case Node::Kind::copy: return out[0].assign(in[0]);
        case Node::Kind::fill: return out[0].fill(n.value);
        case Node::Kind::host: throw Error(n.name, "runs on the host");
        }
    }
};

// Moves the elements of a result by what the op's contract allows.
void move_by_contract(const Node &n, const Tensor &t, Random &lots) {
    if (t.dtype() != DType::f32 || t.strides() != dense_strides(t.shape())) return;
    const Contract &contract = n.op->record.contract;
    const double relative = contract.ulps * double(std::numeric_limits<float>::epsilon());
    float *const y = floats_of(t);
    double largest = 0;
    for (int64_t i = 0; i < t.elements(); i++)
        largest = std::max(largest, std::abs(double(y[i])));
    for (int64_t i = 0; i < t.elements(); i++) {
        const bool is_of_element = contract.measure == Contract::elementwise;
        const double size = relative * (is_of_element ? std::abs(double(y[i])) : largest);
        y[i] += float(lots.below(uint64_t(i), 2) == 0 ? size : -size);
    }
}

double largest_change(const Tensor &a, const Tensor &b) {
    double most = 0;
    for (int64_t i = 0; i < a.elements(); i++)
        most = std::max(most, std::abs(double(floats_of(a)[i]) - double(floats_of(b)[i])));
    return most;
}

}  // namespace

std::vector<Tensor> results_of(const Graph &graph, const Tensor &input) {
    return OpByOp(graph, input).run([](const Node &, const Tensor &) {});
}

std::vector<double> allowed_errors(const Graph &graph, const Tensor &input, int runs) {
    const OpByOp steps(graph, input);
    const std::vector<Tensor> exact = results_of(graph, input);
    std::vector<double> allowed(exact.size());
    uint64_t draw = 0;
    for (int r = 0; r < runs; r++) {
        const std::vector<Tensor> moved = steps.run([&](const Node &n, const Tensor &t) {
            Random lots(1, draw++);
            move_by_contract(n, t, lots);
        });
        for (size_t k = 0; k < exact.size(); k++)
            allowed[k] = std::max(allowed[k], 2 * largest_change(exact[k], moved[k]));
    }
    return allowed;
}

}  // namespace halyard::exporting
