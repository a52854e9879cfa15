// Runs random calls in child processes, so that one that crashes or hangs costs only itself.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"

namespace halyard::fuzz {

struct Failure {
    uint64_t number;   // of the call
    std::string what;  // the call and what is wrong with it
};

struct Outcome {
    uint64_t calls = 0, refused = 0;
    std::vector<Failure> failures;
};

struct CallOptions {
    std::string device = "cpu";
    uint64_t first = 0, count = 1;
    uint64_t stride = 1;        // from one call's number to the next one's
    double seconds = 10;        // of processor time that one call may take
    size_t most_failures = 50;  // then it stops
    uint64_t calls_per_child = 2000;
};

// Judges the calls first, first + stride, ... This process must not have used its thread pool.
Outcome run_calls(const std::vector<const RegisteredOp *> &ops, const CallOptions &o);

// Asks in a child of its own: the answer of a question that changes the process.
bool in_a_child(const std::function<bool()> &question);

}  // namespace halyard::fuzz
