#include "graph/standalone.h"

#include <algorithm>
#include <limits>
#include <map>

#include "graph/graph_error.h"
#include "graph/view.h"

namespace halyard::graph {
namespace {

// Calls f(view) for each view of the graph's nodes and outputs.
template<class G, class F> void for_each_view_of(G &graph, const F &f) {
    for (auto &n : graph.nodes)
        for_each_view(n, f);
    for (auto &v : graph.outputs)
        if (v.buffer >= 0) f(v);
}

std::vector<ByteRange> ranges_of(const Graph &graph) {
    std::vector<ByteRange> ranges(graph.buffers.size());
    for_each_view_of(graph, [&](const View &v) {
        ByteRange &all = ranges[size_t(v.buffer)];
        const ByteRange own = range_of(v);
        all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
    });
    return ranges;
}

bool holds(const Tensor &t, ByteRange r) {
    return t.dense() && r.begin >= 0 && r.end <= int64_t(t.bytes());
}

// The elements that are read, one after the other.
Tensor flat(const Tensor &t, ByteRange r) {
    const auto size = int64_t(bytes_of(t.dtype()));
    return t.with_memory(t.dtype(), {(r.end - r.begin + size - 1) / size}, {1}, r.begin);
}

void remove_unused(Graph &graph) {
    std::vector<int> place(graph.buffers.size(), -1);
    for_each_view_of(graph, [&](const View &v) { place[size_t(v.buffer)] = 0; });
    std::vector<Buffer> used;
    for (size_t k = 0; k < place.size(); k++) {
        if (place[k] < 0 && graph.buffers[k].role != Role::input) continue;
        place[k] = int(used.size());
        used.push_back(std::move(graph.buffers[k]));
    }
    graph.buffers = std::move(used);
    for_each_view_of(graph, [&](View &v) { v.buffer = place[size_t(v.buffer)]; });
}

using Named = std::pair<std::string, Tensor>;
using NamedMemory = std::map<const Storage *, const Named *>;

// Makes the buffer hold a dense tensor that has these bytes: a named one if it can.
void hold_dense(Buffer &b, ByteRange r, const NamedMemory &named) {
    b.name = "";
    const auto found = named.find(b.held.impl()->storage);
    if (found != named.end()) {
        const auto &[name, whole] = *found->second;
        const int64_t moved = b.held.impl()->data - whole.impl()->data;
        if (holds(whole, {r.begin + moved, r.end + moved})) {
            b.held = whole;
            b.name = name;
        }
    }
    if (b.name.empty() && !holds(b.held, r)) b.held = flat(b.held, r);
    b.bytes = b.held.bytes();
}

// The count serves the source of the numbers only.
bool counts_steps(const Node &n) {
    return n.kind == Node::Kind::host && n.in.empty() && n.out.empty() &&
           n.name.starts_with("count ");
}

}  // namespace

size_t number_count(const Graph &graph) {
    size_t count = 0;
    for (const Node &n : graph.nodes)
        for (const NumberPlace &place : n.numbers)
            count = std::max(count, place.number + 1);
    return count;
}

void make_standalone(Graph &graph, const std::vector<std::pair<std::string, Tensor>> &named) {
    if (!graph.numbers.empty()) {
        std::erase_if(graph.nodes, counts_steps);
        graph.numbers.clear();
    }
    remove_unused(graph);
    NamedMemory by_memory;
    for (const Named &n : named)
        by_memory.emplace(n.second.impl()->storage, &n);
    const std::vector<ByteRange> ranges = ranges_of(graph);
    std::vector<int64_t> shift(graph.buffers.size());
    for (size_t k = 0; k < graph.buffers.size(); k++) {
        Buffer &b = graph.buffers[k];
        if (b.role != Role::captured && b.role != Role::constant) continue;
        const char *const before = b.held.impl()->data;
        hold_dense(b, ranges[k], by_memory);
        shift[k] = before - b.held.impl()->data;
    }
    for_each_view_of(graph, [&](View &v) { v.offset += shift[size_t(v.buffer)]; });
    find_lifetimes(graph);
}

namespace {

class Check {
public:
    explicit Check(const Graph &graph) : graph_(graph), written_(graph.buffers.size()) {}

    void run() {
        if (graph_.draws < 0 || size_t(graph_.draws) > graph_.nodes.size())
            fail("makes " + std::to_string(graph_.draws) + " draws of random numbers");
        for (size_t k = 0; k < graph_.buffers.size(); k++)
            check_buffer(k);
        for (size_t k = 0; k < graph_.nodes.size(); k++)
            check_node(k);
        for (const View &v : graph_.outputs)
            if (v.buffer >= 0) read("a result", v);
    }

private:
    [[noreturn]] void fail(const std::string &what) const {
        throw GraphError("graph", graph_.name + ": " + what);
    }

    void check_buffer(size_t k) {
        const Buffer &b = graph_.buffers[k];
        const std::string name = "buffer " + std::to_string(k);
        const bool is_held = b.role == Role::captured || b.role == Role::constant;
        if (is_held && !b.held.defined()) fail(name + " has no tensor");
        if (is_held && b.bytes != b.held.bytes()) fail(name + " has another size than its tensor");
        if (b.role == Role::input) {
            constexpr int most = 1 << 16;
            if (b.input < 0 || b.input >= most) fail(name + " is no argument");
            if (size_t(b.input) >= arguments_.size()) arguments_.resize(size_t(b.input) + 1);
            if (arguments_[size_t(b.input)]++)
                fail("argument " + std::to_string(b.input) + " has two buffers");
        }
        written_[k] = is_held || b.role == Role::input;
    }

    void check_view(const std::string &by, const View &v) const {
        if (v.buffer < 0 || size_t(v.buffer) >= graph_.buffers.size())
            fail(by + " uses buffer " + std::to_string(v.buffer) + " of " +
                 std::to_string(graph_.buffers.size()));
        checked_elements("graph", v.shape);
        constexpr int64_t most = std::numeric_limits<int32_t>::max();
        if (v.strides.rank() != v.shape.rank()) fail(by + " has a view without strides");
        int64_t last = 0;
        for (int d = 0; d < v.shape.rank(); d++) {
            if (v.strides[d] < 0 || v.strides[d] > most) fail(by + " has a stride beyond 2^31-1");
            if (v.shape[d] > 0) last += (v.shape[d] - 1) * v.strides[d];
            if (last > most) fail(by + " has a view of more than 2^31-1 elements");
        }
        const auto bytes = int64_t(graph_.buffers[size_t(v.buffer)].bytes);
        if (v.offset < 0 || v.offset > bytes || range_of(v).end > bytes)
            fail(by + " uses bytes after the end of buffer " + std::to_string(v.buffer));
        if (v.offset % int64_t(bytes_of(v.dtype))) fail(by + " has a view between two elements");
    }

    void read(const std::string &by, const View &v) const {
        check_view(by, v);
        if (!written_[size_t(v.buffer)])
            fail(by + " reads buffer " + std::to_string(v.buffer) + ", which nothing has written");
    }

    void check_numbers(const std::string &by, const Node &n) const {
        constexpr size_t most = 1 << 16;
        for (const NumberPlace &place : n.numbers) {
            if (place.number >= most) fail(by + " has no such number of a step");
            const bool is_real = n.kind == Node::Kind::call && n.attrs &&
                                 place.attribute < n.attrs->op().attrs.size() &&
                                 n.attrs->op().attrs[place.attribute].kind == AttrKind::real;
            if (!is_real && n.kind != Node::Kind::fill)
                fail(by + " has a number of a step where it takes none");
        }
    }

    void check_node(size_t k) {
        const Node &n = graph_.nodes[k];
        const std::string by = "node " + std::to_string(k) + ", '" + n.name + "',";
        for (const View &v : n.in)
            read(by, v);
        for (const View &v : n.out) {
            check_view(by, v);
            const Role role = graph_.buffers[size_t(v.buffer)].role;
            if ((role == Role::host) != (n.kind == Node::Kind::host))
                fail(by + " writes what a step on the host makes, or the other way round");
            if (role == Role::constant) fail(by + " writes a constant");
            written_[size_t(v.buffer)] = 1;
        }
        check_numbers(by, n);
        const bool is_draw = n.draw >= 0;
        if (n.draw >= graph_.draws) fail(by + " has a draw that the graph doesn't make");
        if (is_draw && n.kind != Node::Kind::call) fail(by + " draws no random numbers");
        if (n.kind == Node::Kind::copy || n.kind == Node::Kind::fill) {
            const size_t read = n.kind == Node::Kind::copy ? 1 : 0;
            if (n.in.size() != read || n.out.size() != 1) fail(by + " has other operands");
        }
    }

    const Graph &graph_;
    std::vector<char> written_;  // by buffer
    std::vector<int> arguments_;
};

}  // namespace

void check_standalone(const Graph &graph) {
    Check(graph).run();
}

}  // namespace halyard::graph
