// The project that `halyard export NETWORK --for c99` writes: one function in C99, which computes a
// network's forward pass for one shape.
#pragma once
#include <string>

#include "graph/graph.h"
#include "tools/export/project.h"

namespace halyard::exporting {

struct Network {
    std::string name;    // "lenet5"
    graph::Graph graph;  // of the forward pass in evaluation, after its passes
    Tensor input;        // f32 or i32, dense; integers are below `vocabulary`
    int64_t vocabulary = 0;
};

struct NetworkOptions {
    // Elementwise ops are computed where their operand is, and have no memory of their own.
    bool fuses = true;
    // Scales of normalisations are multiplied into the weights of convolutions. Changes bits.
    bool folds_norms = false;
};

// Returns the network's graph with what depends on its weights alone computed.
graph::Graph folded(const Network &network, bool folds_norms);

// What one way to write a network takes.
struct NetworkSizes {
    size_t steps = 0;
    int64_t arena_bytes = 0, constant_bytes = 0;
};

// Returns what the network takes in f32. Throws Error if a step can't be stated in C99.
NetworkSizes sizes_in_f32(const Project &project, const Network &network, bool fuses);

struct WrittenNetwork {
    std::string function;         // its prototype
    NetworkSizes plain, written;  // op by op; as it was written
    double allowed = 0;           // the largest error that the test allows an element
};

// Writes the project. Throws Error, with the reason, before anything is written if a step of the
// network can't be stated in C99.
WrittenNetwork write_network_project(const Project &project, const Network &network,
                                     const NetworkOptions &options);

}  // namespace halyard::exporting
