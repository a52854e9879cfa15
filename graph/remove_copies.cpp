#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "graph/graph.h"
#include "graph/memory_plan.h"
#include "graph/view.h"
#include "registry/tensor/view_strides.h"

namespace halyard::graph {
namespace {

// A copy that can be removed.
struct Move {
    size_t copy = 0, producer = 0;  // nodes; the second computes what the first one copies
    View from, to;                  // of the copy
    Shape strides;                  // of what the producer stores in the place, if that has gaps
};

// The bytes of temporaries that are alive at each node.
class AliveBytes {
public:
    explicit AliveBytes(Graph &graph) : buffers_(graph.buffers), bytes_(graph.nodes.size()) {
        for (const Buffer &b : buffers_)
            add(bytes_, b, 1);
        for (const int64_t b : bytes_)
            peak_ = std::max(peak_, b);
    }

    // Sets the lifetimes that results have after moves into one buffer. Returns false, and changes
    // nothing, if the largest sum would grow.
    bool move(const std::vector<Move> &moves) {
        Buffer &place = buffers_[size_t(moves[0].to.buffer)];
        std::vector<int64_t> after = bytes_;
        add(after, place, -1);
        int first = place.first;
        int last = place.last;
        for (const Move &m : moves) {
            const Buffer &result = buffers_[size_t(m.from.buffer)];
            add(after, result, -1);
            first = std::min(first, result.first);
            last = std::max(last, result.last);
        }
        const int first_before = std::exchange(place.first, first);
        const int last_before = std::exchange(place.last, last);
        add(after, place, 1);
        if (std::ranges::any_of(after, [&](int64_t b) { return b > peak_; })) {
            place.first = first_before;
            place.last = last_before;
            return false;
        }
        for (const Move &m : moves)
            buffers_[size_t(m.from.buffer)].first = buffers_[size_t(m.from.buffer)].last = -1;
        bytes_ = std::move(after);
        return true;
    }

private:
    static void add(std::vector<int64_t> &bytes, const Buffer &b, int sign) {
        if (b.role != Role::temporary || b.first < 0) return;
        for (int k = b.first; k <= b.last; k++)
            bytes[size_t(k)] += sign * int64_t(b.bytes);
    }

    std::vector<Buffer> &buffers_;
    std::vector<int64_t> bytes_;  // by node
    int64_t peak_ = 0;
};

// Removes the copies of one graph.
class CopyRemover {
public:
    explicit CopyRemover(Graph &graph) : g_(graph), alive_(graph), is_removed_(graph.nodes.size()) {
        users_.resize(g_.buffers.size());
        for (size_t k = 0; k < g_.nodes.size(); k++) {
            for_each_view(g_.nodes[k], [&](const View &v) {
                if (v.buffer >= 0) add_user(v.buffer, k);
            });
        }
    }

    void run() {
        std::map<int, std::vector<size_t>> copies;  // by the buffer that they write
        for (size_t k = 0; k < g_.nodes.size(); k++)
            if (g_.nodes[k].kind == Node::Kind::copy)
                copies[g_.nodes[k].out[0].buffer].push_back(k);
        for (const auto &[buffer, into] : copies)
            remove_copies_into(into);
        std::vector<Node> kept;
        for (size_t k = 0; k < g_.nodes.size(); k++)
            if (!is_removed_[k]) kept.push_back(std::move(g_.nodes[k]));
        g_.nodes = std::move(kept);
    }

private:
    void add_user(int buffer, size_t node) {
        std::vector<size_t> &users = users_[size_t(buffer)];
        if (std::ranges::find(users, node) == users.end()) users.push_back(node);
    }

    Buffer &buffer_of(const View &v) const { return g_.buffers[size_t(v.buffer)]; }

    bool is_temporary(const View &v) const { return buffer_of(v).role == Role::temporary; }

    // Returns the node before the copy that alone computes what is copied, as a whole, if there is
    // one that may store it anywhere.
    std::optional<size_t> producer_of(const View &from, size_t copy) const {
        std::optional<size_t> producer;
        for (const size_t k : users_[size_t(from.buffer)]) {
            const auto is_of_buffer = [&](const View &v) { return v.buffer == from.buffer; };
            const Node &n = g_.nodes[k];
            const auto written = std::ranges::count_if(n.out, is_of_buffer);
            if (written == 0) continue;
            const bool reads = std::ranges::any_of(n.in, is_of_buffer);
            const auto made = std::ranges::find_if(n.out, is_of_buffer);
            if (producer || k >= copy || written > 1 || reads || !is_whole(*made, buffer_of(from)))
                return std::nullopt;
            producer = k;
        }
        if (!producer || g_.nodes[*producer].kind == Node::Kind::host) return std::nullopt;
        return producer;
    }

    // Returns true if only the copy writes the place, and nothing reads it before: then it may be
    // written earlier.
    bool is_free_before(const View &place, size_t copy) const {
        return std::ranges::all_of(users_[size_t(place.buffer)], [&](size_t k) {
            const auto is_apart = [&](const View &v) { return !may_overlap(v, place); };
            const Node &n = g_.nodes[k];
            return k == copy || (std::ranges::all_of(n.out, is_apart) &&
                                 (k > copy || std::ranges::all_of(n.in, is_apart)));
        });
    }

    // Returns how to remove a copy, if its result may be stored in its place earlier. All nodes
    // that use it do so in the place then. Where the place has gaps, what computes the result must
    // be another copy, and nothing else may read it: kernels store dense results only.
    std::optional<Move> find_move(size_t copy) const {
        Move m{copy, 0, g_.nodes[copy].in[0], g_.nodes[copy].out[0], {}};
        if (!is_of_run(buffer_of(m.to))) return {};
        if (m.from.buffer == m.to.buffer || m.from.dtype != m.to.dtype) return {};
        if (!is_temporary(m.from) || !is_whole(m.from, buffer_of(m.from))) return {};
        const std::optional<size_t> producer = producer_of(m.from, copy);
        if (!producer || !is_free_before(m.to, copy)) return {};
        m.producer = *producer;
        if (is_dense(m.to)) return m;
        const Node &n = g_.nodes[m.producer];
        const std::optional<Shape> strides = strides_of_reshaped(m.to.shape, m.to.strides,
                                                                 n.out[0].shape);
        const bool is_only_copied = users_[size_t(m.from.buffer)].size() == 2;
        if (n.kind != Node::Kind::copy || !is_only_copied || !strides) return {};
        m.strides = *strides;
        return m;
    }

    // Removes all of these copies if that takes no more memory, or else those of them that may go
    // alone.
    void remove_copies_into(const std::vector<size_t> &copies) {
        std::vector<Move> moves;
        for (const size_t copy : copies) {
            std::optional<Move> m = find_move(copy);
            const auto is_other_copy = [&](const Move &o) {
                return o.from.buffer == m->from.buffer;
            };
            if (m && std::ranges::none_of(moves, is_other_copy)) moves.push_back(*m);
        }
        if (moves.empty()) return;
        const bool all_may_go = alive_.move(moves);
        for (const Move &m : moves)
            if (all_may_go || alive_.move({m})) apply(m);
    }

    void apply(const Move &m) {
        is_removed_[m.copy] = 1;
        g_.nodes[m.copy].in.clear();
        g_.nodes[m.copy].out.clear();
        const std::vector<size_t> users = users_[size_t(m.from.buffer)];
        for (const size_t k : users) {
            if (k == m.copy) continue;
            for_each_view(g_.nodes[k], [&](View &v) {
                if (v.buffer != m.from.buffer) return;
                v.buffer = m.to.buffer;
                v.offset += m.to.offset;
                if (!is_dense(m.to)) v.strides = m.strides;
            });
            add_user(m.to.buffer, k);
        }
    }

    Graph &g_;
    AliveBytes alive_;
    std::vector<std::vector<size_t>> users_;  // nodes, by buffer
    std::vector<char> is_removed_;            // by node
};

}  // namespace

// Fewer lifetimes that are longer can be harder to place, so the memory is compared as it is
// placed.
void remove_copies(Graph &graph) {
    find_lifetimes(graph);
    Graph without = graph;
    CopyRemover(without).run();
    if (without.nodes.size() == graph.nodes.size()) return;
    find_lifetimes(without);
    if (plan_memory(without, true).bytes <= plan_memory(graph, true).bytes)
        graph = std::move(without);
}

}  // namespace halyard::graph
