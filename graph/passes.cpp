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

std::span<const Pass> passes_of_programs() {
    static constexpr std::array all = {Pass{"with_packed_weights", pack_weights},
                                       Pass{"with_prepared", mark_prepared}};
    return all;
}

namespace {

// Passes may read the lifetimes of the buffers.
using Told = std::function<void(const char *name)>;

void run(Graph &graph, const Pass &pass, const Told &told) {
    pass.run(graph);
    find_lifetimes(graph);
    told(pass.name);
}

void run_all(Graph &graph, bool is_for_program, const Told &told) {
    find_lifetimes(graph);
    told("recorded");
    for (const Pass &pass : passes())
        run(graph, pass, told);
    if (!is_for_program) return;
    for (const Pass &pass : passes_of_programs())
        run(graph, pass, told);
}

Told telling(const Graph &graph, const PassWatch &watch) {
    return [&graph, &watch](const char *name) {
        if (watch) watch(name, graph);
        if (thread_watch) thread_watch(name, graph);
    };
}

}  // namespace

void run_passes(Graph &graph, const PassWatch &watch) {
    run_all(graph, false, telling(graph, watch));
}

void run_passes_for_program(Graph &graph, const PassWatch &watch) {
    run_all(graph, true, telling(graph, watch));
}

void run_passes_again(Graph &graph) {
    run_all(graph, true, [](const char *) {});
}

}  // namespace halyard::graph
