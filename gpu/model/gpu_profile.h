// The constants of a GPU from which launches are timed (gpu/model/launch_time.h).
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace halyard::ptx {

// The source of a constant. doc: a public document of the maker's. fit: fitted to published
// measurements (docs/gpu.md). assumed: our choice, because neither exists.
enum class Source : uint8_t { doc, fit, assumed };

struct Constant {
    double value = 0;
    Source source = Source::assumed;
};

// "Of a multiprocessor" unless it says otherwise. Widths are threads, or bytes, a cycle.
struct GpuProfile {
    std::string name, description;
    Constant multiprocessors, gigahertz;
    Constant issue;                            // warp instructions
    Constant f32_width, i32_width, sfu_width;  // the last is of square roots, exponentials, ...
    Constant f64_width;
    Constant requests;              // to global and shared memory, of warps
    Constant lines;                 // of the L1 cache, or wavefronts of shared memory
    Constant l2_bytes, dram_bytes;  // of the whole chip; the latter a nanosecond
    Constant latency, l1_latency;   // of global memory and of the L1 cache, in cycles
    Constant loads_in_flight;       // of a warp, in code without barriers
    // The share of the other units' time that isn't hidden behind the busiest one's.
    Constant exposed;
    Constant threads, blocks, registers, shared_bytes;  // that fit

    // Returns the profile of a6000, a100 or h100. Throws AttrError for another name.
    static const GpuProfile &named(const std::string &name);
    static const std::vector<GpuProfile> &all();
};

// Returns the names and values of a profile's constants, for texts.
std::vector<std::pair<std::string, Constant>> constants_of(const GpuProfile &p);
const char *name_of(Source s);  // "DOC", "FIT", "ASSUMED"

}  // namespace halyard::ptx
