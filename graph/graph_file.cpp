#include "graph/graph_file.h"

#include <atomic>
#include <cstdio>
#include <filesystem>

#include "graph/dot.h"
#include "primitives/context.h"
#include "registry/base/atomic_file.h"
#include "registry/base/log.h"

namespace halyard::graph {

PassWatch saving_watch() {
    static std::atomic<unsigned> saved = 0;
    return [number = saved++, stage = 0](const std::string &name, const Graph &graph) mutable {
        char begin[40];
        std::snprintf(begin, sizeof begin, "captured_%04u_%d_", number, stage++);
        const std::filesystem::path folder = get_context().save_graphs_path;
        const std::string path = (folder / (begin + name)).string();
        write_file(path + ".ir", text_of(graph), Durability::to_system);
        write_file(path + ".dot", dot_of(graph), Durability::to_system);
        log(LogLevel::info, "graph",
            path + ".ir: " + graph.name + " of " + std::to_string(graph.nodes.size()) + " nodes");
    };
}

}  // namespace halyard::graph
