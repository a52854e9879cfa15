#include "graph/graph_file.h"

#include <atomic>
#include <cstdio>
#include <filesystem>

#include "primitives/context.h"
#include "registry/base/atomic_file.h"
#include "registry/base/log.h"

namespace halyard::graph {

void save_graph(const Graph &graph) {
    static std::atomic<unsigned> saved = 0;
    char name[32];
    std::snprintf(name, sizeof name, "captured_%04u.ir", saved++);
    const std::string path =
        (std::filesystem::path(get_context().save_graphs_path) / name).string();
    write_file(path, text_of(graph), Durability::to_system);
    log(LogLevel::info, "graph",
        path + ": " + graph.name + " of " + std::to_string(graph.nodes.size()) + " nodes");
}

}  // namespace halyard::graph
