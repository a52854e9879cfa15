#include "tools/export/network_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/random.h"
#include "tools/export/op_by_op.h"

namespace halyard::exporting {
namespace {

using graph::Graph;
using graph::Node;

float *floats_of(const Tensor &t) {
    return static_cast<float *>(t.raw());
}

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
    return OpByOp(graph).run(input, [](const Node &, const Tensor &) {});
}

std::vector<double> allowed_errors(const Graph &graph, const Tensor &input, int runs) {
    const OpByOp steps(graph);
    const std::vector<Tensor> exact = results_of(graph, input);
    std::vector<double> allowed(exact.size());
    uint64_t draw = 0;
    for (int r = 0; r < runs; r++) {
        const std::vector<Tensor> moved = steps.run(input, [&](const Node &n, const Tensor &t) {
            Random lots(1, draw++);
            move_by_contract(n, t, lots);
        });
        for (size_t k = 0; k < exact.size(); k++)
            allowed[k] = std::max(allowed[k], 2 * largest_change(exact[k], moved[k]));
    }
    return allowed;
}

}  // namespace halyard::exporting
