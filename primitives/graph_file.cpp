#include "primitives/graph_file.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>

#include "primitives/context.h"
#include "registry/error.h"
#include "registry/log.h"

namespace halyard {

std::string dot_of(const TapeGraph &graph) {
    const auto type = [&](int value) { return name_of(graph.values[(size_t)value].dtype) + graph.values[(size_t)value].shape.text(); };
    std::vector<int> maker(graph.values.size(), -1);
    std::string text = "digraph tape {\n    node [shape=box];\n", edges;
    for (size_t i = 0; i < graph.ops.size(); i++) {
        const TapeGraph::Op &op = graph.ops[i];
        const std::string id = "op" + std::to_string(i);
        text += "    " + id + " [label=\"" + op.name + (op.attributes.empty() ? "" : "\\n" + op.attributes) + "\"];\n";
        for (const int v : op.in) {
            if (v < 0) continue;
            const std::string from = maker[(size_t)v] < 0 ? "x" + std::to_string(v) : "op" + std::to_string(maker[(size_t)v]);
            edges += "    " + from + " -> " + id + " [label=\"" + type(v) + "\"];\n";
        }
        for (const int v : op.out)
            if (v >= 0) maker[(size_t)v] = (int)i;
    }
    for (size_t v = 0; v < maker.size(); v++)
        if (maker[v] < 0) text += "    x" + std::to_string(v) + " [shape=ellipse, label=\"" + type((int)v) + "\"];\n";
    return text + edges + "}\n";
}

void save_graph(const TapeGraph &graph) {
    static std::mutex mutex;
    static std::set<size_t> saved;  // by their text's hash
    const std::string text = dot_of(graph);
    const std::lock_guard lock(mutex);
    if (!saved.insert(std::hash<std::string>()(text)).second) return;
    char name[24];
    std::snprintf(name, sizeof name, "graph_%04zu.dot", saved.size() - 1);
    const std::string path = (std::filesystem::path(get_context().save_graphs_path) / name).string();
    std::ofstream file(path);
    file << text << std::flush;
    if (!file) throw IoError(path, "can't be written");
    log(LogLevel::info, "context", path + ": a graph of " + std::to_string(graph.ops.size()) + " ops");
}

}  // namespace halyard
