// The constants of a GPU from which launches are timed (gpu/model/launch_time.h).
#pragma once
#include <cstdint>
#include <string>

namespace halyard::ptx {

// The source of a constant. doc: a public document of the maker's. fit: fitted to published
// measurements (docs/gpu.md). assumed: our choice, because neither exists.
enum class Source : uint8_t { doc, fit, assumed };

struct Constant {
    double value = 0;
    Source source = Source::assumed;
};

constexpr Constant doc(double value) {
    return {value, Source::doc};
}
constexpr Constant fit(double value) {
    return {value, Source::fit};
}
constexpr Constant assumed(double value) {
    return {value, Source::assumed};
}

// Constants are those of a multiprocessor unless a comment says otherwise. A width is the number of
// threads whose operation a unit computes in a cycle. What has a value here is the same in all
// profiles that don't give their own.
struct GpuProfile {
    std::string name, description;
    Constant multiprocessors, gigahertz;  // of the chip
    Constant issue = doc(4);              // warp instructions in a cycle
    Constant f32_width, i32_width = doc(64), f64_width;
    Constant sfu_width = doc(16);       // of square roots, exponentials, ...
    Constant requests = assumed(0.75);  // of warps to global and shared memory, in a cycle
    Constant lines = doc(1);          // of the L1 cache, or wavefronts of shared memory, in a cycle
    Constant l2_bytes;                // of the chip, in a cycle
    Constant dram_bytes;              // of the chip, in a nanosecond
    Constant latency = assumed(600);  // of global memory, in cycles
    Constant l1_latency = assumed(35);      // of the L1 cache, in cycles
    Constant loads_in_flight = assumed(4);  // of a warp, in code without barriers
    // The share of the other units' time that isn't hidden behind the busiest one's.
    Constant exposed = assumed(0.1);
    // What fits at once.
    Constant threads, blocks, registers = doc(65536), shared_bytes;

    // Returns the profile of a6000, a100 or h100. Throws AttrError for another name.
    static const GpuProfile &named(const std::string &name);
};

}  // namespace halyard::ptx
