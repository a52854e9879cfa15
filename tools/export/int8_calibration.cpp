#include "tools/export/int8_calibration.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "registry/base/error.h"
#include "tools/export/op_by_op.h"

namespace halyard::exporting {
namespace {

using graph::Buffer;
using graph::Graph;
using graph::Node;
using graph::Role;

std::span<const float> floats_of(const Tensor &t) {
    return {static_cast<const float *>(t.raw()), size_t(t.elements())};
}

// Returns the position of the first element that isn't finite; -1 if there is none.
int64_t not_finite(const Tensor &t) {
    if (t.dtype() != DType::f32) return -1;
    const std::span<const float> all = floats_of(t);
    const auto at = std::ranges::find_if(all, [](float v) { return !std::isfinite(v); });
    return at == all.end() ? -1 : at - all.begin();
}

std::string value_at(const Tensor &t, int64_t i) {
    return std::to_string(floats_of(t)[size_t(i)]) + " at element " + std::to_string(i);
}

void check_weights(const Graph &graph) {
    for (const Buffer &b : graph.buffers) {
        if (b.role != Role::captured && b.role != Role::constant) continue;
        const Tensor dense = b.held.contiguous();
        if (const int64_t i = not_finite(dense); i >= 0)
            throw Error(graph.name, "weight " + b.name + " is " + value_at(dense, i) +
                                        ", expected finite numbers (--int8)");
    }
}

void widen(Range &range, const Tensor &t) {
    for (const float v : floats_of(t)) {
        range.low = std::min(range.low, v);
        range.high = std::max(range.high, v);
    }
}

}  // namespace

std::map<int, Range> calibrated(const Graph &graph, const std::vector<Tensor> &inputs) {
    check_weights(graph);
    const auto is_input = [](const Buffer &b) { return b.role == Role::input; };
    const int input = int(std::ranges::find_if(graph.buffers, is_input) - graph.buffers.begin());
    std::map<int, Range> ranges;
    const OpByOp steps(graph);
    for (size_t k = 0; k < inputs.size(); k++) {
        const std::string row = " for input " + std::to_string(k) + " of the data (--int8)";
        if (const int64_t i = not_finite(inputs[k]); i >= 0)
            throw Error(graph.name, "x is " + value_at(inputs[k], i) + row);
        widen(ranges[input], inputs[k]);
        steps.run(inputs[k], [&](const Node &n, const Tensor &t) {
            if (t.dtype() != DType::f32) return;
            if (const int64_t i = not_finite(t.contiguous()); i >= 0)
                throw Error(n.name,
                            "in " + n.part + " computes " + value_at(t.contiguous(), i) + row);
            widen(ranges[n.out[0].buffer], t.contiguous());
        });
    }
    return ranges;
}

}  // namespace halyard::exporting
