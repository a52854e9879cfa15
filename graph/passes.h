// The passes that a recorded graph goes through before it becomes a program.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "graph/graph.h"

namespace halyard::graph {

struct Pass {
    const char *name;  // what the graph is after it
    void (*run)(Graph &);
};

// Returns all passes in their order.
std::span<const Pass> passes();
// Returns those that follow if the graph becomes a program: what parameters determine is kept from
// run to run there (graph/prepare.h).
std::span<const Pass> passes_of_programs();

// Gets "recorded" with the recorded graph, then each pass's name with the graph after it.
using PassWatch = std::function<void(const std::string &name, const Graph &graph)>;

// Runs all passes. The watch of this thread's scope is told, too.
void run_passes(Graph &graph, const PassWatch &watch = {});

// As run_passes(), and then those of programs.
void run_passes_for_program(Graph &graph, const PassWatch &watch = {});

// As run_passes_for_program(), for a graph that is recorded again to be compared: no watch is told.
void run_passes_again(Graph &graph);

// Sets this thread's watch while it lives. Scopes don't nest.
class PassWatchScope {
public:
    explicit PassWatchScope(PassWatch watch);
    ~PassWatchScope();
    PassWatchScope(const PassWatchScope &) = delete;
    PassWatchScope &operator=(const PassWatchScope &) = delete;
};

}  // namespace halyard::graph
