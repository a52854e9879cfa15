// The kernels of regions (graph/region.h), made while the program goes on.
//
// The command `halyard fuse` compiles a kernel, in a process of its own at the lowest priority,
// compares its results with those of the region's calls, bit for bit, and times both. A kernel
// with the same bits that is faster is taken over between two runs. Since the bits are the same, it
// doesn't matter when.
#pragma once
#include <cstdint>

#include "graph/region.h"

namespace halyard::graph {

// Returns true if kernels can be made: for the CPU, with the command at hand. HALYARD_COMMAND names
// it; else it is looked for beside the library. A warning is logged once if there is none.
bool can_fuse_regions();

// Returns the op that computes the region; null if it is being made or isn't worth it. The first
// request for a region starts the making. Thread-safe.
const RegisteredOp *fused_op(const Region &region);

// Returns a number that grows with each kernel that was made.
uint64_t fused_kernels_made();

// Waits until all kernels that were asked for are made, or known not to be worth it. For tests and
// measurements: programs need not wait.
void wait_for_fused_kernels();

// Kernels that are at least so many times as fast as the region's calls are used; 1.03 at first.
// With 0, for tests, all that have the same bits are.
void set_least_fused_ratio(double ratio);

// What was found of one region.
struct FusedResult {
    std::string region;       // Region::text()
    bool is_used = false;     // it has the same bits, and is faster
    double ratio = 0;         // the time of the calls, divided by the kernel's
    std::string reason = {};  // why it isn't used; "" if it is
};
// Returns the results so far, in the order of the requests.
std::vector<FusedResult> fused_results();

}  // namespace halyard::graph
