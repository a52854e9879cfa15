#include "graph/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace halyard::graph {
namespace {

constexpr size_t alignment = 64;  // of the pool's memory, which kernels may rely on

size_t rounded(size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

bool overlap(const Buffer &a, const Buffer &b) {
    return a.first <= b.last && b.first <= a.last;
}

size_t largest_sum(const Graph &graph) {
    std::vector<int64_t> change(graph.nodes.size() + 1);
    for (const Buffer &b : graph.buffers) {
        if (b.role != Role::temporary || b.first < 0) continue;
        change[size_t(b.first)] += int64_t(rounded(b.bytes));
        change[size_t(b.last) + 1] -= int64_t(rounded(b.bytes));
    }
    int64_t now = 0, most = 0;
    for (const int64_t c : change)
        most = std::max(most, now += c);
    return size_t(most);
}

}  // namespace

MemoryPlan plan_memory(const Graph &graph) {
    MemoryPlan plan;
    plan.offsets.resize(graph.buffers.size());
    plan.lower_bound = largest_sum(graph);
    std::vector<size_t> order;
    for (size_t k = 0; k < graph.buffers.size(); k++) {
        const Buffer &b = graph.buffers[k];
        if (b.role == Role::temporary && b.first >= 0) order.push_back(k);
    }
    std::ranges::stable_sort(
        order, [&](size_t a, size_t b) { return graph.buffers[a].bytes > graph.buffers[b].bytes; });
    std::vector<size_t> placed;  // by offset
    for (const size_t k : order) {
        const size_t bytes = rounded(graph.buffers[k].bytes);
        size_t at = 0;
        for (const size_t other : placed) {
            if (!overlap(graph.buffers[k], graph.buffers[other])) continue;
            if (at + bytes <= plan.offsets[other]) break;
            at = std::max(at, plan.offsets[other] + rounded(graph.buffers[other].bytes));
        }
        plan.offsets[k] = at;
        plan.bytes = std::max(plan.bytes, at + bytes);
        const auto after = std::ranges::upper_bound(
            placed, at, {}, [&](size_t other) { return plan.offsets[other]; });
        placed.insert(after, k);
    }
    return plan;
}

Tensor memory_of(size_t bytes) {
    constexpr size_t most = (size_t(1) << 31) - 1;  // elements of a tensor
    if (bytes <= most) return Tensor::empty({int64_t(bytes)}, DType::u8);
    return Tensor::empty({int64_t((bytes + 7) / 8)}, DType::i64);
}

}  // namespace halyard::graph
