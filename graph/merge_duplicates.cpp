#include <algorithm>
#include <map>
#include <utility>

#include "graph/graph.h"
#include "graph/view.h"

namespace halyard::graph {
namespace {

// Counts the writes to each buffer. A tensor from outside may be an argument of a later run, so all
// of these count together.
class Versions {
public:
    explicit Versions(const Graph &graph) : graph_(graph), own_(graph.buffers.size()) {}

    void write(const View &v) { count_of(v.buffer)++; }
    int64_t of(const View &v) { return count_of(v.buffer); }

private:
    int64_t &count_of(int buffer) {
        return is_from_outside(graph_.buffers[size_t(buffer)]) ? outside_ : own_[size_t(buffer)];
    }

    const Graph &graph_;
    std::vector<int64_t> own_;
    int64_t outside_ = 0;
};

// Merges the duplicates of one graph.
class Merger {
public:
    explicit Merger(Graph &graph) : g_(graph), versions_(graph), writes_(graph.buffers.size()) {
        for (const Node &n : g_.nodes)
            for (const View &v : n.out)
                writes_[size_t(v.buffer)]++;
    }

    void run() {
        for (Node &n : g_.nodes) {
            for (View &v : n.in)
                rename(v);
            const Node *const earlier = find_earlier(n);
            if (earlier && are_temporary(n)) {
                for (size_t k = 0; k < n.out.size(); k++)
                    renamed_[n.out[k].buffer] = earlier->out[k].buffer;
                continue;
            }
            if (!earlier && may_be_repeated(n))
                made_.push_back({kept_.size(), versions_of_inputs(n)});
            for (const View &v : n.out)
                versions_.write(v);
            kept_.push_back(std::move(n));
        }
        g_.nodes = std::move(kept_);
    }

private:
    // A node that was kept, by its place, and the versions that it read.
    struct Made {
        size_t node = 0;
        std::vector<int64_t> read;
    };

    void rename(View &v) const {
        const auto found = renamed_.find(v.buffer);
        if (found != renamed_.end()) v.buffer = found->second;
    }

    std::vector<int64_t> versions_of_inputs(const Node &n) {
        std::vector<int64_t> all;
        for (const View &v : n.in)
            all.push_back(v.buffer < 0 ? 0 : versions_.of(v));
        return all;
    }

    // Returns true for a node whose results are the same whenever it reads the same, and are
    // nothing but these results until the end.
    bool may_be_repeated(const Node &n) const {
        const bool computes = n.kind == Node::Kind::call || n.kind == Node::Kind::copy;
        return computes && n.draw < 0 && std::ranges::all_of(n.out, [&](const View &v) {
                   const Buffer &b = g_.buffers[size_t(v.buffer)];
                   return is_of_run(b) && writes_[size_t(v.buffer)] == 1 && is_whole(v, b);
               });
    }

    // The caller may write to what a run returns, so an output has its own memory.
    bool are_temporary(const Node &n) const {
        return std::ranges::all_of(n.out, [&](const View &v) {
            return g_.buffers[size_t(v.buffer)].role == Role::temporary;
        });
    }

    static bool same_numbers(const Node &a, const Node &b) {
        return std::ranges::equal(a.numbers, b.numbers,
                                  [](const NumberPlace &x, const NumberPlace &y) {
                                      return x.attribute == y.attribute && x.number == y.number;
                                  });
    }

    static bool same_attributes(const Node &a, const Node &b) {
        if (a.attrs.has_value() != b.attrs.has_value()) return false;
        return !a.attrs ||
               (a.attrs->plans_like(*b.attrs) && a.attrs->exact_texts() == b.attrs->exact_texts());
    }

    static bool same_results(const Node &a, const Node &b) {
        return a.kind == b.kind && a.op == b.op && same_numbers(a, b) && a.in == b.in &&
               same_attributes(a, b) &&
               std::ranges::equal(a.out, b.out, [](const View &x, const View &y) {
                   return x.shape == y.shape && x.dtype == y.dtype;
               });
    }

    const Node *find_earlier(const Node &n) {
        if (!may_be_repeated(n)) return nullptr;
        const std::vector<int64_t> read = versions_of_inputs(n);
        const auto found = std::ranges::find_if(
            made_, [&](const Made &m) { return m.read == read && same_results(kept_[m.node], n); });
        return found == made_.end() ? nullptr : &kept_[found->node];
    }

    Graph &g_;
    Versions versions_;
    std::vector<int> writes_;  // by buffer, of the graph as it was recorded
    std::vector<Node> kept_;
    std::vector<Made> made_;
    std::map<int, int> renamed_;  // buffers that no node writes any more
};

}  // namespace

void merge_duplicates(Graph &graph) {
    Merger(graph).run();
}

}  // namespace halyard::graph
