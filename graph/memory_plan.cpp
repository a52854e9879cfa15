#include "graph/memory_plan.h"

#include <algorithm>
#include <functional>

#include "graph/view.h"

namespace halyard::graph {
namespace {

constexpr size_t alignment = 64;  // of the pool's memory, which kernels may rely on

size_t rounded(size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

bool is_temporary(const Buffer &b) {
    return b.role == Role::temporary && b.first >= 0;
}

// Results and the inputs that they may lie on.
struct Pairs {
    std::vector<int> input_of, result_of;  // by buffer; -1 where there is none
};

// Returns the input of the call at `k` whose memory the result may take: it is a temporary that no
// later node reads, and all that the call reads of it are the elements of the result's places. -1
// if there is none.
int input_for_result(const Graph &graph, size_t k) {
    const Node &n = graph.nodes[k];
    const bool is_elementwise = n.kind == Node::Kind::call && n.out.size() == 1 &&
                                n.op->record.form == Form::elementwise;
    if (!is_elementwise) return -1;
    const View &out = n.out[0];
    const Buffer &made = graph.buffers[size_t(out.buffer)];
    if (!is_temporary(made) || made.first != int(k) || !is_whole(out, made)) return -1;
    const auto lies_on = [&](const View &v) {
        return v.offset == 0 && v.shape == out.shape && v.dtype == out.dtype && is_dense(v);
    };
    for (const View &v : n.in) {
        if (v.buffer < 0) continue;
        const Buffer &read = graph.buffers[size_t(v.buffer)];
        if (!is_temporary(read) || read.last != int(k) || read.bytes != made.bytes) continue;
        const bool is_safe = std::ranges::all_of(
            n.in, [&](const View &other) { return other.buffer != v.buffer || lies_on(other); });
        if (is_safe) return v.buffer;
    }
    return -1;
}

Pairs find_pairs(const Graph &graph, bool in_place) {
    Pairs pairs;
    pairs.input_of.resize(graph.buffers.size(), -1);
    pairs.result_of.resize(graph.buffers.size(), -1);
    for (size_t k = 0; in_place && k < graph.nodes.size(); k++) {
        const int input = input_for_result(graph, k);
        if (input < 0) continue;
        const int result = graph.nodes[k].out[0].buffer;
        pairs.input_of[size_t(result)] = input;
        pairs.result_of[size_t(input)] = result;
    }
    return pairs;
}

// Returns the largest sum of the temporaries that are alive at one node, where a result counts
// together with the input that it may lie on.
size_t largest_sum(const Graph &graph, const Pairs &pairs) {
    std::vector<int64_t> change(graph.nodes.size() + 1);
    for (size_t k = 0; k < graph.buffers.size(); k++) {
        const Buffer &b = graph.buffers[k];
        if (!is_temporary(b)) continue;
        const int first = pairs.input_of[k] < 0 ? b.first : b.first + 1;
        if (first > b.last) continue;  // nobody reads the result
        change[size_t(first)] += int64_t(rounded(b.bytes));
        change[size_t(b.last) + 1] -= int64_t(rounded(b.bytes));
    }
    int64_t now = 0, most = 0;
    for (const int64_t c : change)
        most = std::max(most, now += c);
    return size_t(most);
}

// Buffers of one size that may lie on each other, as results on their inputs, and the time from the
// first one's beginning to the last one's end.
struct Chain {
    std::vector<size_t> buffers;
    size_t bytes = 0;
    int first = 0, last = 0;
};

// Places one buffer after the other.
class Placement {
public:
    Placement(const Graph &graph, const Pairs &pairs) : graph_(graph), pairs_(pairs) {
        plan_.offsets.resize(graph.buffers.size());
        plan_.lower_bound = largest_sum(graph, pairs);
        is_placed_.resize(graph.buffers.size());
    }

    // Places the buffer, with the others of its chain if the arena doesn't become larger for that.
    void place(size_t buffer) {
        if (is_placed_[buffer]) return;
        const Chain alone = chain_of({buffer});
        const Chain together = chain_of(unplaced_chain(buffer));
        const size_t at = lowest_offset(alone);
        const size_t at_together = lowest_offset(together);
        const size_t bytes = std::max(plan_.bytes, at + alone.bytes);
        if (at_together + together.bytes <= bytes)
            add(together, at_together);
        else
            add(alone, at);
    }

    const MemoryPlan &plan() const { return plan_; }

private:
    struct Placed {
        Chain chain;
        size_t at = 0;
    };

    // Returns the buffers that the buffer lies on, itself, and those that lie on it, up to one that
    // has a place.
    std::vector<size_t> unplaced_chain(size_t buffer) const {
        std::vector<size_t> chain{buffer};
        const auto add_all = [&](const std::vector<int> &next) {
            for (int k = next[buffer]; k >= 0 && !is_placed_[size_t(k)]; k = next[size_t(k)])
                chain.push_back(size_t(k));
        };
        add_all(pairs_.input_of);
        add_all(pairs_.result_of);
        return chain;
    }

    Chain chain_of(const std::vector<size_t> &buffers) const {
        const Buffer &some = graph_.buffers[buffers[0]];
        Chain c{buffers, rounded(some.bytes), some.first, some.last};
        for (const size_t k : buffers) {
            c.first = std::min(c.first, graph_.buffers[k].first);
            c.last = std::max(c.last, graph_.buffers[k].last);
        }
        return c;
    }

    size_t lowest_offset(const Chain &chain) const {
        size_t at = 0;
        for (const Placed &other : placed_) {
            if (chain.last < other.chain.first || other.chain.last < chain.first) continue;
            if (at + chain.bytes <= other.at) break;
            at = std::max(at, other.at + other.chain.bytes);
        }
        return at;
    }

    void add(const Chain &chain, size_t at) {
        for (const size_t k : chain.buffers) {
            plan_.offsets[k] = at;
            is_placed_[k] = true;
        }
        plan_.in_place += chain.buffers.size() - 1;
        plan_.bytes = std::max(plan_.bytes, at + chain.bytes);
        placed_.insert(std::ranges::upper_bound(placed_, at, {}, &Placed::at), {chain, at});
    }

    const Graph &graph_;
    const Pairs &pairs_;
    MemoryPlan plan_;
    std::vector<Placed> placed_;   // by offset
    std::vector<char> is_placed_;  // by buffer
};

MemoryPlan plan_with(const Graph &graph, const Pairs &pairs) {
    std::vector<size_t> order;
    for (size_t k = 0; k < graph.buffers.size(); k++)
        if (is_temporary(graph.buffers[k])) order.push_back(k);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](size_t k) { return graph.buffers[k].bytes; });
    Placement placement(graph, pairs);
    for (const size_t k : order)
        placement.place(k);
    return placement.plan();
}

}  // namespace

MemoryPlan plan_memory(const Graph &graph, bool in_place) {
    MemoryPlan apart = plan_with(graph, find_pairs(graph, false));
    if (!in_place) return apart;
    MemoryPlan shared = plan_with(graph, find_pairs(graph, true));
    return shared.bytes <= apart.bytes ? shared : apart;
}

Tensor memory_of(size_t bytes) {
    constexpr size_t most = (size_t(1) << 31) - 1;  // elements of a tensor
    if (bytes <= most) return Tensor::empty({int64_t(bytes)}, DType::u8);
    return Tensor::empty({int64_t((bytes + 7) / 8)}, DType::i64);
}

}  // namespace halyard::graph
