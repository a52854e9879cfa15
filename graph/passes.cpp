#include "graph/passes.h"

#include <array>
#include <utility>

namespace halyard::graph {
namespace {

thread_local PassWatch thread_watch;

}  // namespace

PassWatchScope::PassWatchScope(PassWatch watch) {
    thread_watch = std::move(watch);
}
PassWatchScope::~PassWatchScope() {
    thread_watch = {};
}

std::span<const Pass> passes() {
    static constexpr std::array all = {
        Pass{"without_dead_nodes", remove_dead_nodes}, Pass{"with_constants", hold_constant_fills},
        Pass{"without_duplicates", merge_duplicates}, Pass{"without_copies", remove_copies}};
    return all;
}

void run_passes(Graph &graph, const PassWatch &watch) {
    const auto tell = [&](const char *name) {
        find_lifetimes(graph);
        if (watch) watch(name, graph);
        if (thread_watch) thread_watch(name, graph);
    };
    tell("recorded");
    for (const Pass &pass : passes()) {
        pass.run(graph);
        tell(pass.name);
    }
}

}  // namespace halyard::graph
