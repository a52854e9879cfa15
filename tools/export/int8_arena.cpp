#include "tools/export/int8_arena.h"

#include <algorithm>

#include "graph/memory_plan.h"

namespace halyard::exporting {
namespace {

int64_t bytes_of_rows(const Convolution &c) {
    return c.c * rows_of_window(c) * c.w;
}

// Returns true if the first step alone reads the input, and needs less than all of it at a time.
bool takes_rows(const Int8Network &network) {
    const Int8Step &first = network.steps[0];
    const auto reads = [&](const Int8Step &s) {
        return s.x == network.input || s.z == network.input;
    };
    return first.kind == Int8Step::Kind::convolution && first.x == network.input &&
           first.z != network.input &&
           std::none_of(network.steps.begin() + 1, network.steps.end(), reads) &&
           bytes_of_rows(first.convolution) < network.tensors.at(network.input).shape.elements();
}

graph::View all_of(int buffer) {
    graph::View v;
    v.buffer = buffer;
    return v;
}

}  // namespace

int64_t rows_of_window(const Convolution &c) {
    return (c.pool.rows - 1) * c.stride.rows + (c.u - 1) * c.dilation.rows + 1;
}

ArenaPlan arena_of(const Int8Network &network, bool is_i8) {
    const bool has_rows = !is_i8 && takes_rows(network);
    graph::Graph g;
    g.buffers.resize(size_t(network.tensors.rbegin()->first) + 1);
    for (const auto &[buffer, tensor] : network.tensors)
        g.buffers[size_t(buffer)].bytes = size_t(tensor.shape.elements());
    for (const Int8Step &step : network.steps) {
        graph::Node n;
        for (const int buffer : {step.x, step.z})
            if (buffer >= 0) n.in.push_back(all_of(buffer));
        n.out.push_back(all_of(step.y));
        g.nodes.push_back(n);
    }
    if (has_rows)
        g.buffers[size_t(network.input)].bytes = size_t(
            bytes_of_rows(network.steps[0].convolution));
    if (is_i8) {
        g.buffers[size_t(network.input)].role = graph::Role::input;
        g.buffers[size_t(network.output)].role = graph::Role::output;
    }
    graph::find_lifetimes(g);
    const graph::MemoryPlan plan = graph::plan_memory(g, false);
    ArenaPlan arena;
    for (const auto &[buffer, tensor] : network.tensors)
        arena.offsets[buffer] = int64_t(plan.offsets[size_t(buffer)]);
    if (has_rows) arena.rows = arena.offsets.at(network.input);
    arena.bytes = int64_t(plan.bytes);
    return arena;
}

}  // namespace halyard::exporting
