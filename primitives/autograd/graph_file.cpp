#include "primitives/autograd/graph_file.h"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>

#include "primitives/context.h"
#include "registry/base/atomic_file.h"
#include "registry/base/fork.h"
#include "registry/base/log.h"

namespace halyard {

std::string dot_of(const TapeGraph &graph) {
    const auto type = [&](int value) {
        return name_of(graph.values[value].dtype) + graph.values[value].shape.text();
    };
    std::vector<int> maker(graph.values.size(), -1);
    std::string text = "digraph tape {\n    node [shape=box];\n", edges;
    for (size_t i = 0; i < graph.ops.size(); i++) {
        const TapeGraph::Op &op = graph.ops[i];
        const std::string id = "op" + std::to_string(i);
        text += "    " + id + " [label=\"" + op.name +
                (op.attributes.empty() ? "" : "\\n" + op.attributes) + "\"];\n";
        for (const int v : op.in) {
            if (v < 0) continue;
            const std::string from = maker[v] < 0 ? "x" + std::to_string(v)
                                                  : "op" + std::to_string(maker[v]);
            edges += "    " + from + " -> " + id + " [label=\"" + type(v) + "\"];\n";
        }
        for (const int v : op.out)
            if (v >= 0) maker[v] = int(i);
    }
    for (size_t v = 0; v < maker.size(); v++) {
        if (maker[v] < 0) {
            text += "    x" + std::to_string(v) + " [shape=ellipse, label=\"" + type(int(v)) +
                    "\"];\n";
        }
    }
    return text + edges + "}\n";
}

namespace {

struct Saved {
    Saved() { hold_over_fork(mutex); }
    std::mutex mutex;
    std::set<size_t> graphs;  // hashes of their texts
};

}  // namespace

void save_graph(const TapeGraph &graph) {
    // It is never destroyed: threads that outlive main() may still call ops.
    static Saved &saved = *new Saved;
    const std::string text = dot_of(graph);
    const std::string folder = get_context().save_graphs_path;
    const std::lock_guard lock(saved.mutex);
    if (!saved.graphs.insert(std::hash<std::string>()(text)).second) return;
    char name[24];
    std::snprintf(name, sizeof name, "graph_%04zu.dot", saved.graphs.size() - 1);
    const std::string path = (std::filesystem::path(folder) / name).string();
    write_file(path, text, Durability::to_system);
    log(LogLevel::info, "context",
        path + ": a graph of " + std::to_string(graph.ops.size()) + " ops");
}

}  // namespace halyard
