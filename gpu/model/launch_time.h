// A model of the time that a launch takes on a GPU, from what the PTX machine counted. It is a
// model: no time of it was measured.
//
// A multiprocessor's units work side by side: those that issue and compute, the path to shared
// memory and the L1 cache. A block takes as long as its busiest unit and a share of the others'
// time. While it waits for global memory, the other blocks that fit run: so it takes no less than
// its latencies divided by their number. L2 and DRAM serve all multiprocessors, each sector once
// for each block, and once for the launch.
#pragma once
#include "gpu/machine/counts.h"
#include "gpu/machine/machine.h"
#include "gpu/model/gpu_profile.h"

namespace halyard::ptx {

struct LaunchFacts {
    std::string kernel;
    LaunchShape shape;
    Counts counts;              // of all blocks
    uint64_t shared_bytes = 0;  // of a block
    uint32_t registers = 0;     // of a thread, at least
};

struct LaunchTime {
    double microseconds = 0;  // without what the host needs for a launch
    // What takes longest: "issue", "f32", "i32", "special functions", "f64", "requests",
    // "shared memory and L1", "latency", "L2" or "DRAM".
    std::string bound;
    uint64_t blocks_at_once = 0;  // on a multiprocessor
    double occupancy = 0;         // the share of its threads
    double dram_share = 0;        // of the time, that the least traffic with DRAM takes
};

// Throws DeviceError if a block doesn't fit into the GPU's multiprocessor.
LaunchTime modelled_time(const GpuProfile &gpu, const LaunchFacts &facts);

}  // namespace halyard::ptx
