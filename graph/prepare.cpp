#include "graph/prepare.h"

#include <algorithm>
#include <set>

namespace halyard::graph {
namespace {

// Finds the nodes that parameters determine.
class Determined {
public:
    explicit Determined(const Graph &graph) : g_(graph), fixed_(graph.buffers.size(), 1) {
        for (const Node &n : g_.nodes) {
            for (const View &v : n.out) {
                const Role role = g_.buffers[size_t(v.buffer)].role;
                writes_outside_ |= role == Role::input;
                if (role != Role::temporary) fixed_[size_t(v.buffer)] = 0;
            }
        }
        for (size_t k = 0; k < g_.buffers.size(); k++) {
            const Role role = g_.buffers[k].role;
            if (role == Role::input || role == Role::host || role == Role::output) fixed_[k] = 0;
        }
    }

    // A buffer is fixed while all nodes that write it may be prepared, so that what one of them
    // reads can take this from the others.
    OfParameters find() {
        std::vector<char> found(g_.nodes.size());
        if (writes_outside_) return {std::vector<char>(g_.buffers.size()), found};
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t k = 0; k < g_.nodes.size(); k++) {
                const Node &n = g_.nodes[k];
                found[k] = may_be_prepared(n);
                if (!found[k]) changed |= release(n);
            }
        }
        return {fixed_, found};
    }

private:
    bool is_fixed(const View &v) const { return v.buffer < 0 || fixed_[size_t(v.buffer)]; }

    bool may_be_prepared(const Node &n) const {
        const bool computes = n.kind == Node::Kind::call || n.kind == Node::Kind::copy;
        return computes && n.draw < 0 && n.numbers.empty() && !is_large(n) &&
               std::ranges::all_of(n.in, [&](const View &v) { return is_fixed(v); }) &&
               std::ranges::all_of(n.out, [&](const View &v) { return is_fixed(v); });
    }

    // Results that are much larger than what they are computed of, such as a bias for each row, are
    // not worth their memory.
    static bool is_large(const Node &n) {
        int64_t read = 0;
        int64_t written = 0;
        for (const View &v : n.in)
            read += bytes_in(v);
        for (const View &v : n.out)
            written += bytes_in(v);
        return written > 2 * read;
    }

    // Returns the bytes of the view's elements; repeated ones count once.
    static int64_t bytes_in(const View &v) {
        auto bytes = int64_t(bytes_of(v.dtype));
        for (int d = 0; d < v.shape.rank(); d++)
            if (v.strides[d] != 0 || v.shape[d] == 0) bytes *= v.shape[d];
        return bytes;
    }

    // Notes that a node's results may differ from run to run. Returns true if that is new.
    bool release(const Node &n) {
        bool is_new = false;
        for (const View &v : n.out) {
            is_new |= fixed_[size_t(v.buffer)] != 0;
            fixed_[size_t(v.buffer)] = 0;
        }
        return is_new;
    }

    const Graph &g_;
    std::vector<char> fixed_;      // by buffer
    bool writes_outside_ = false;  // to an argument, which may be any tensor
};

}  // namespace

OfParameters find_of_parameters(const Graph &graph) {
    return Determined(graph).find();
}

void mark_prepared(Graph &graph) {
    const std::vector<char> prepared = find_of_parameters(graph).nodes;
    for (size_t k = 0; k < graph.nodes.size(); k++) {
        if (!prepared[k]) continue;
        for (const View &v : graph.nodes[k].out)
            graph.buffers[size_t(v.buffer)].role = Role::prepared;
    }
}

std::vector<PreparedGroup> prepared_groups(const Graph &graph) {
    std::vector<int> group_of(graph.buffers.size(), -1);
    std::vector<PreparedGroup> groups;
    const auto move_all = [&](int from, int to) {
        std::ranges::replace(group_of, from, to);
        std::ranges::copy(groups[size_t(from)].nodes, std::back_inserter(groups[size_t(to)].nodes));
        groups[size_t(from)].nodes.clear();
    };
    for (size_t k = 0; k < graph.nodes.size(); k++) {
        const Node &n = graph.nodes[k];
        if (!is_prepared(graph, n)) continue;
        const int own = int(groups.size());
        groups.push_back({{k}, {}});
        for_each_view(n, [&](const View &v) {
            if (v.buffer < 0 || graph.buffers[size_t(v.buffer)].role != Role::prepared) return;
            int &group = group_of[size_t(v.buffer)];
            if (group < 0) group = own;
            if (group != own) move_all(group, own);
        });
    }
    std::erase_if(groups, [](const PreparedGroup &g) { return g.nodes.empty(); });
    for (PreparedGroup &g : groups) {
        std::ranges::sort(g.nodes);
        std::set<size_t> sources;
        for (const size_t k : g.nodes)
            for (const View &v : graph.nodes[k].in)
                if (v.buffer >= 0 && graph.buffers[size_t(v.buffer)].role == Role::captured)
                    sources.insert(size_t(v.buffer));
        g.sources.assign(sources.begin(), sources.end());
    }
    return groups;
}

}  // namespace halyard::graph
