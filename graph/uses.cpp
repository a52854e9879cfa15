#include "graph/uses.h"

namespace halyard::graph {

Uses::Uses(const Graph &graph) : writers(graph.buffers.size()), readers(graph.buffers.size()) {
    for (size_t k = 0; k < graph.nodes.size(); k++) {
        for (const View &v : graph.nodes[k].in)
            if (v.buffer >= 0) readers[size_t(v.buffer)].push_back(k);
        for (const View &v : graph.nodes[k].out)
            writers[size_t(v.buffer)].push_back(k);
    }
    for (const View &v : graph.outputs)
        if (v.buffer >= 0) readers[size_t(v.buffer)].push_back(graph.nodes.size());
}

bool is_written_between(const Graph &graph, int buffer, size_t first, size_t last) {
    const bool is_outside = is_from_outside(graph.buffers[size_t(buffer)]);
    for (size_t k = first + 1; k < last; k++) {
        for (const View &written : graph.nodes[k].out) {
            const bool may_be_same = is_outside &&
                                     is_from_outside(graph.buffers[size_t(written.buffer)]);
            if (written.buffer == buffer || may_be_same) return true;
        }
    }
    return false;
}

}  // namespace halyard::graph
