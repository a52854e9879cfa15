#include "graph/row_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/prepare.h"
#include "graph/uses.h"
#include "graph/view.h"
#include "registry/base/text.h"
#include "registry/dispatch/call_rows.h"
#include "registry/dispatch/plan.h"

namespace halyard::graph {
namespace {

// So many nodes that are not in a loop may lie between two that are.
constexpr size_t most_between = 8;

RowLimits the_limits;

int64_t size_of(const View &v) {
    return int64_t(bytes_of(v.dtype));
}

// Returns the dimension of the operand at `place` that has the index of the results' dimension d;
// -1 if it has none.
int own_dimension(const Node &n, size_t place, bool is_output, int d) {
    if (is_output || n.kind == Node::Kind::copy) return d;
    return row_dimension_of_input(*n.op, place, n.in[place].shape, n.out[0].shape, d);
}

// Returns the extents along which the node has rows.
Shape row_extents_of(const Node &n) {
    if (n.kind == Node::Kind::copy) return n.out[0].shape;
    std::vector<Shape> shapes;
    for (const View &v : n.in)
        shapes.push_back(v.shape);
    return row_extents(*n.op, *n.attrs, shapes, n.out[0].shape);
}

const View &operand_of(const Node &n, size_t place, bool is_output) {
    return is_output ? n.out[place] : n.in[place];
}

Shape common_of(const Shape &a, const Shape &b) {
    const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return {a.begin(), ends.first};
}

// Returns the bytes from one row to the next, by leading dimension; 0 where all rows are the same.
Shape steps_of(const Node &n, size_t place, bool is_output, const Shape &rows) {
    const View &v = operand_of(n, place, is_output);
    Shape steps = rows;
    for (int d = 0; d < rows.rank(); d++) {
        const int own = own_dimension(n, place, is_output, d);
        const bool moves = own >= 0 && v.shape[own] > 1;
        steps[d] = moves ? v.strides[own] * size_of(v) : 0;
    }
    return steps;
}

// Returns the extents that an operand has in a tile.
Shape extents_in_tile(const Node &n, size_t place, bool is_output, int tiled, int64_t rows) {
    Shape extents = operand_of(n, place, is_output).shape;
    for (int d = 0; d <= tiled; d++) {
        const int own = own_dimension(n, place, is_output, d);
        if (own >= 0 && extents[own] > 1) extents[own] = d < tiled ? 1 : rows;
    }
    return extents;
}

class LoopFinder {
public:
    LoopFinder(const Graph &graph, int threads) : g_(graph), uses_(graph), threads_(threads) {}

    std::vector<RowLoop> find() {
        std::vector<RowLoop> loops;
        for (size_t k = 0; k < g_.nodes.size(); k++) {
            if (is_taken(k) || !may_run_by_rows(g_.nodes[k])) continue;
            std::optional<RowLoop> loop = loop_from(k);
            if (!loop) continue;
            for (const size_t node : loop->nodes)
                taken_.insert(node);
            loops.push_back(std::move(*loop));
        }
        return loops;
    }

private:
    bool is_taken(size_t node) const { return taken_.count(node) != 0; }

    bool may_run_by_rows(const Node &n) const {
        const bool computes = n.kind == Node::Kind::call || n.kind == Node::Kind::copy;
        if (!computes || n.draw >= 0 || !n.numbers.empty() || is_prepared(g_, n)) return false;
        const auto is_defined = [](const View &v) { return v.buffer >= 0; };
        if (!std::ranges::all_of(n.in, is_defined)) return false;
        const Shape rows = row_extents_of(n);
        return !rows.empty() && std::ranges::all_of(n.out, [&](const View &v) {
            const Buffer &b = g_.buffers[size_t(v.buffer)];
            return is_of_run(b) && is_whole(v, b) && b.bytes > 0 &&
                   uses_.writers[size_t(v.buffer)].size() == 1 && common_of(v.shape, rows) == rows;
        });
    }

    // Returns the loop of this node and of later ones, as many as there can be.
    std::optional<RowLoop> loop_from(size_t first) {
        RowLoop loop;
        loop.nodes = {first};
        loop.rows = row_extents_of(g_.nodes[first]);
        size_t between = 0;
        for (size_t k = first + 1; k < g_.nodes.size() && between < most_between; k++) {
            if (add(loop, k))
                between = 0;
            else
                between++;
        }
        // Kernels are compared, because a call of fewer rows may get another one.
        while (loop.nodes.size() > 1) {
            describe(loop);
            if (!choose_tile(loop) || !pays(loop)) return std::nullopt;
            const size_t same = nodes_with_same_kernels(loop);
            if (same == loop.nodes.size()) return loop;
            loop.nodes.resize(same);
        }
        return std::nullopt;
    }

    // A loop of fewer nodes has fewer tiles, so it doesn't pay either where this one doesn't.
    bool pays(const RowLoop &loop) const {
        return loop.tiles() >= the_limits.fewest_tiles * threads_;
    }

    // Adds a node that reads what the loop computes, if it can run in the loop.
    bool add(RowLoop &loop, size_t node) const {
        const Node &n = g_.nodes[node];
        if (is_taken(node) || !may_run_by_rows(n)) return false;
        RowLoop larger = loop;
        larger.rows = common_of(loop.rows, row_extents_of(n));
        bool is_connected = false;
        for (size_t place = 0; place < n.in.size(); place++) {
            if (!is_written_in(loop, n.in[place])) continue;
            if (!reads_rows(n, place, larger.rows)) return false;
            is_connected = true;
        }
        if (!is_connected) return false;
        larger.nodes.push_back(node);
        if (!can_move(larger)) return false;
        describe(larger);
        if (!choose_tile(larger)) return false;
        loop = std::move(larger);
        return true;
    }

    bool is_written_in(const RowLoop &loop, const View &v) const {
        return std::ranges::any_of(uses_.writers[size_t(v.buffer)], [&](size_t writer) {
            return std::ranges::binary_search(loop.nodes, writer);
        });
    }

    // Returns true if the node reads each row of what the loop computes for the same row.
    bool reads_rows(const Node &n, size_t place, const Shape &rows) const {
        const View &v = n.in[place];
        return is_whole(v, g_.buffers[size_t(v.buffer)]) &&
               own_dimension(n, place, false, 0) == 0 && common_of(v.shape, rows) == rows;
    }

    // Returns true if all nodes can run in the place of the last one.
    bool can_move(const RowLoop &loop) const {
        const size_t last = loop.nodes.back();
        for (const size_t k : loop.nodes) {
            for (const View &v : g_.nodes[k].out)
                for (const size_t reader : uses_.readers[size_t(v.buffer)])
                    if (reader < last && !std::ranges::binary_search(loop.nodes, reader))
                        return false;
            for (const View &v : g_.nodes[k].in)
                if (!is_written_in(loop, v) && is_written_between(g_, v.buffer, k, last))
                    return false;
        }
        return true;
    }

    bool is_inner(const RowLoop &loop, int buffer) const {
        const auto is_in_loop = [&](size_t node) {
            return std::ranges::binary_search(loop.nodes, node);
        };
        return g_.buffers[size_t(buffer)].role == Role::temporary &&
               std::ranges::all_of(uses_.readers[size_t(buffer)], is_in_loop) &&
               std::ranges::all_of(uses_.writers[size_t(buffer)], is_in_loop);
    }

    // Lists the loop's tensors.
    void describe(RowLoop &loop) const {
        loop.operands.clear();
        loop.inner.clear();
        const auto add = [&](size_t node, size_t place, bool is_output) {
            const View &v = operand_of(g_.nodes[node], place, is_output);
            if (is_inner(loop, v.buffer)) {
                if (is_output) loop.inner.push_back(v.buffer);
                return;
            }
            const Shape steps = steps_of(g_.nodes[node], place, is_output, loop.rows);
            const auto is_same = [&](const RowOperand &o) {
                return o.view == v && o.steps == steps;
            };
            if (std::ranges::none_of(loop.operands, is_same))
                loop.operands.push_back({node, place, is_output, v, steps});
        };
        for (const size_t k : loop.nodes) {
            const Node &n = g_.nodes[k];
            for (size_t i = 0; i < n.in.size(); i++)
                add(k, i, false);
            for (size_t i = 0; i < n.out.size(); i++)
                add(k, i, true);
        }
    }

    // Returns the bytes of one row, whose dimensions up to `tiled` have one index each.
    int64_t bytes_of_row(const RowLoop &loop, int tiled) const {
        int64_t bytes = 0;
        for (const RowOperand &o : loop.operands) {
            int64_t elements = o.view.shape.elements();
            bool moves = false;
            for (int d = 0; d <= tiled; d++) {
                if (o.steps[d] == 0) continue;
                moves = true;
                elements /= loop.rows[d];
            }
            if (moves) bytes += elements * size_of(o.view);
        }
        int64_t rows = 1;
        for (int d = 0; d <= tiled; d++)
            rows *= loop.rows[d];
        return std::max<int64_t>(bytes + most_inner_bytes(loop) / rows, 1);
    }

    // Returns the largest sum of the inner buffers that are alive at one node.
    int64_t most_inner_bytes(const RowLoop &loop) const {
        int64_t most = 0;
        for (const size_t k : loop.nodes) {
            int64_t bytes = 0;
            for (const int buffer : loop.inner) {
                const Buffer &b = g_.buffers[size_t(buffer)];
                if (b.first <= int(k) && int(k) <= b.last) bytes += int64_t(b.bytes);
            }
            most = std::max(most, bytes);
        }
        return most;
    }

    // Chooses the dimension along which rows are taken, and how many. Returns false if there is
    // none.
    bool choose_tile(RowLoop &loop) const {
        for (int d = 0; d < loop.rows.rank(); d++) {
            const int64_t row = bytes_of_row(loop, d);
            if (row > the_limits.tile_bytes) continue;
            const int64_t most_rows = the_limits.tile_bytes / row;
            loop.tiled = d;
            loop.parts = (loop.rows[d] + most_rows - 1) / most_rows;
            return true;
        }
        return false;
    }

    // Returns how many nodes from the first on have the same kernels in tiles as in whole calls.
    size_t nodes_with_same_kernels(const RowLoop &loop) const {
        const Graph first = graph_of_rows(g_, loop, loop.rows_of_part(0));
        const Graph last = graph_of_rows(g_, loop, loop.rows_of_part(loop.parts - 1));
        for (size_t k = 0; k < loop.nodes.size(); k++) {
            const Node &n = g_.nodes[loop.nodes[k]];
            if (n.kind == Node::Kind::copy) continue;
            const KernelEntry *kernel = kernel_of(n);
            if (!kernel || kernel != kernel_of(first.nodes[k]) ||
                kernel != kernel_of(last.nodes[k]))
                return k;
        }
        return loop.nodes.size();
    }

    // Returns the kernel that the host runs for a call; null if it isn't one alone.
    static const KernelEntry *kernel_of(const Node &n) {
        const Plan plan = plan_of(n);
        const auto is_copied = [](const Plan::Buffer &b) { return !b.copy_order.empty(); };
        const bool is_alone = !plan.converted && !plan.on_device && !plan.simulated &&
                              std::ranges::none_of(plan.inputs, is_copied) &&
                              std::ranges::none_of(plan.outputs, is_copied);
        return is_alone ? plan.kernel : nullptr;
    }

    const Graph &g_;
    const Uses uses_;
    const int threads_;
    std::set<size_t> taken_;
};

}  // namespace

int64_t RowLoop::tiles() const {
    int64_t count = parts;
    for (int d = 0; d < tiled; d++)
        count *= rows[d];
    return count;
}

int64_t RowLoop::rows_of_part(int64_t part) const {
    return rows[tiled] / parts + (part < rows[tiled] % parts ? 1 : 0);
}

int64_t RowLoop::first_row_of_part(int64_t part) const {
    return part * (rows[tiled] / parts) + std::min(part, rows[tiled] % parts);
}

void set_row_limits(const RowLimits &limits) {
    the_limits = limits;
}

std::vector<RowLoop> find_row_loops(const Graph &graph, int threads) {
    return LoopFinder(graph, threads).find();
}

void extend_lifetimes(Graph &graph, const std::vector<RowLoop> &loops) {
    for (const RowLoop &loop : loops) {
        for (const int buffer : loop.inner)
            graph.buffers[size_t(buffer)].first = graph.buffers[size_t(buffer)].last = -1;
        for (const RowOperand &o : loop.operands) {
            Buffer &b = graph.buffers[size_t(o.view.buffer)];
            b.first = std::min(b.first, int(loop.nodes.front()));
            b.last = std::max(b.last, int(loop.nodes.back()));
        }
    }
}

Graph graph_of_rows(const Graph &graph, const RowLoop &loop, int64_t rows) {
    Graph made;
    made.name = graph.name;
    for (size_t k = 0; k < loop.operands.size(); k++) {
        const RowOperand &o = loop.operands[k];
        Buffer b;
        b.role = Role::input;
        b.input = int(k);
        b.dtype = o.view.dtype;
        b.shape = extents_in_tile(graph.nodes[o.node], o.place, o.is_output, loop.tiled, rows);
        b.bytes = size_t(b.shape.elements()) * bytes_of(b.dtype);
        made.buffers.push_back(std::move(b));
    }
    // Returns the operand of a node in the tile's buffers.
    const auto in_tile = [&](const Node &n, size_t place, bool is_output) -> View {
        const View &v = operand_of(n, place, is_output);
        const Shape extents = extents_in_tile(n, place, is_output, loop.tiled, rows);
        const auto inner = std::ranges::find(loop.inner, v.buffer);
        if (inner != loop.inner.end()) {
            const size_t buffer = loop.operands.size() + size_t(inner - loop.inner.begin());
            made.buffers[buffer].bytes = size_t(extents.elements()) * bytes_of(v.dtype);
            return {int(buffer), 0, extents, dense_strides(extents), v.dtype};
        }
        const Shape steps = steps_of(n, place, is_output, loop.rows);
        const auto operand = std::ranges::find_if(
            loop.operands, [&](const RowOperand &o) { return o.view == v && o.steps == steps; });
        return {int(operand - loop.operands.begin()), 0, extents, v.strides, v.dtype};
    };
    made.buffers.resize(loop.operands.size() + loop.inner.size());
    for (const size_t k : loop.nodes) {
        const Node &whole = graph.nodes[k];
        Node n = whole;
        for (size_t i = 0; i < n.in.size(); i++)
            n.in[i] = in_tile(whole, i, false);
        for (size_t i = 0; i < n.out.size(); i++)
            n.out[i] = in_tile(whole, i, true);
        made.nodes.push_back(std::move(n));
    }
    find_lifetimes(made);
    return made;
}

std::string text_of(const Graph &graph, const RowLoop &loop) {
    std::vector<std::string> names;
    for (const size_t k : loop.nodes)
        names.push_back(graph.nodes[k].name);
    return std::to_string(loop.rows_of_part(0)) + " of " + std::to_string(loop.rows[loop.tiled]) +
           " rows at a time: " + join(names, ", ");
}

}  // namespace halyard::graph
