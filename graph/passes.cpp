#include "graph/passes.h"

#include <array>
#include <utility>

#include "graph/prepare.h"

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
        Pass{"with_folded_norms", fold_normalizations},
        Pass{"without_duplicates", merge_duplicates}, Pass{"without_copies", remove_copies}};
    return all;
}

namespace {

void tell(const char *name, Graph &graph, const PassWatch &watch) {
    find_lifetimes(graph);
    if (watch) watch(name, graph);
    if (thread_watch) thread_watch(name, graph);
}

}  // namespace

void run_passes(Graph &graph, const PassWatch &watch) {
    tell("recorded", graph, watch);
    for (const Pass &pass : passes()) {
        pass.run(graph);
        tell(pass.name, graph, watch);
    }
}

void run_passes_for_program(Graph &graph, const PassWatch &watch) {
    run_passes(graph, watch);
    mark_prepared(graph);
    tell("with_prepared", graph, watch);
}

}  // namespace halyard::graph
