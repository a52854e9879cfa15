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

// Gets "recorded" with the recorded graph, then each pass's name with the graph after it.
using PassWatch = std::function<void(const std::string &name, const Graph &graph)>;

// Runs all passes. The watch of this thread's scope is told, too.
void run_passes(Graph &graph, const PassWatch &watch = {});

// As run_passes(), and marks what a program prepares (graph/prepare.h), which is told as
// "with_prepared". Graphs for anything but programs have no such marks.
void run_passes_for_program(Graph &graph, const PassWatch &watch = {});

// Sets this thread's watch while it lives. Scopes don't nest.
class PassWatchScope {
public:
    explicit PassWatchScope(PassWatch watch);
    ~PassWatchScope();
    PassWatchScope(const PassWatchScope &) = delete;
    PassWatchScope &operator=(const PassWatchScope &) = delete;
};

}  // namespace halyard::graph
