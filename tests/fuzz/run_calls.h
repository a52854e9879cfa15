// Runs random calls in child processes, so that one that crashes or hangs costs only itself.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"

namespace halyard::fuzz {

// The bytes of tensors that a call may have at once.
constexpr int64_t memory_limit = 128 << 20;

struct Failure {
    uint64_t number;   // The call's number.
    std::string what;  // The call and its fault.
};

struct Outcome {
    uint64_t calls = 0, rejected = 0;
    std::vector<Failure> failures;
};

struct CallOptions {
    std::string device = "cpu";
    uint64_t first = 0, count = 1;
    uint64_t stride = 1;       // The difference between the numbers of successive calls.
    double seconds = 10;       // The processor time that one call may take.
    size_t max_failures = 50;  // Stops after this many.
    uint64_t calls_per_child = 2000;
};

// Checks the calls first, first + stride, ... This process must not have used its thread pool.
Outcome run_calls(const std::vector<const RegisteredOp *> &ops, const CallOptions &o);

// Calls `question` in a child process, because it changes the process, and returns its answer.
bool in_a_child(const std::function<bool()> &question);

}  // namespace halyard::fuzz
