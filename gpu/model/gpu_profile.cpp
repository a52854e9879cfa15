#include "gpu/model/gpu_profile.h"

#include <algorithm>

#include "registry/base/error.h"

namespace halyard::ptx {
namespace {

constexpr Constant doc(double value) {
    return {value, Source::doc};
}
constexpr Constant fit(double value) {
    return {value, Source::fit};
}
constexpr Constant assumed(double value) {
    return {value, Source::assumed};
}

// doc: NVIDIA's architecture whitepapers of GA102, A100 and H100, and the table of compute
// capabilities in its CUDA programming guide.
const std::vector<GpuProfile> profiles = {{.name = "a6000",
                                           .description = "RTX A6000 (GA102)",
                                           .multiprocessors = doc(84),
                                           .gigahertz = doc(1.8),
                                           .issue = doc(4),
                                           .f32_width = doc(128),
                                           .i32_width = doc(64),
                                           .sfu_width = doc(16),
                                           .f64_width = doc(2),
                                           .requests = fit(0.75),
                                           .lines = doc(1),
                                           .l2_bytes = assumed(2688),
                                           .dram_bytes = doc(768),
                                           .latency = fit(600),
                                           .l1_latency = assumed(35),
                                           .loads_in_flight = assumed(4),
                                           .exposed = fit(0.1),
                                           .threads = doc(1536),
                                           .blocks = doc(16),
                                           .registers = doc(65536),
                                           .shared_bytes = doc(100 << 10)},
                                          {.name = "a100",
                                           .description = "A100 SXM 80 GB",
                                           .multiprocessors = doc(108),
                                           .gigahertz = doc(1.41),
                                           .issue = doc(4),
                                           .f32_width = doc(64),
                                           .i32_width = doc(64),
                                           .sfu_width = doc(16),
                                           .f64_width = doc(32),
                                           .requests = assumed(0.75),
                                           .lines = doc(1),
                                           .l2_bytes = doc(5120),
                                           .dram_bytes = doc(2039),
                                           .latency = assumed(600),
                                           .l1_latency = assumed(35),
                                           .loads_in_flight = assumed(4),
                                           .exposed = assumed(0.1),
                                           .threads = doc(2048),
                                           .blocks = doc(32),
                                           .registers = doc(65536),
                                           .shared_bytes = doc(164 << 10)},
                                          {.name = "h100",
                                           .description = "H100 SXM",
                                           .multiprocessors = doc(132),
                                           .gigahertz = doc(1.83),
                                           .issue = doc(4),
                                           .f32_width = doc(128),
                                           .i32_width = doc(64),
                                           .sfu_width = doc(16),
                                           .f64_width = doc(64),
                                           .requests = assumed(0.75),
                                           .lines = doc(1),
                                           .l2_bytes = assumed(5120),
                                           .dram_bytes = doc(3350),
                                           .latency = assumed(600),
                                           .l1_latency = assumed(35),
                                           .loads_in_flight = assumed(4),
                                           .exposed = assumed(0.1),
                                           .threads = doc(2048),
                                           .blocks = doc(32),
                                           .registers = doc(65536),
                                           .shared_bytes = doc(228 << 10)}};

}  // namespace

const std::vector<GpuProfile> &GpuProfile::all() {
    return profiles;
}

const GpuProfile &GpuProfile::named(const std::string &name) {
    const auto found = std::ranges::find(profiles, name, &GpuProfile::name);
    if (found != profiles.end()) return *found;
    std::string known;
    for (const GpuProfile &p : profiles)
        known += (known.empty() ? "" : ", ") + p.name;
    throw AttrError("gpu", "no profile '" + name + "'; known: " + known);
}

std::vector<std::pair<std::string, Constant>> constants_of(const GpuProfile &p) {
    return {{"multiprocessors", p.multiprocessors},
            {"GHz", p.gigahertz},
            {"warp instructions a cycle", p.issue},
            {"f32 lanes", p.f32_width},
            {"i32 lanes", p.i32_width},
            {"special function lanes", p.sfu_width},
            {"f64 lanes", p.f64_width},
            {"memory requests a cycle", p.requests},
            {"lines or wavefronts a cycle", p.lines},
            {"bytes of L2 a cycle, chip", p.l2_bytes},
            {"bytes of DRAM a nanosecond, chip", p.dram_bytes},
            {"latency of global memory, cycles", p.latency},
            {"latency of the L1 cache, cycles", p.l1_latency},
            {"loads in flight of a warp", p.loads_in_flight},
            {"exposed share of other units", p.exposed},
            {"threads at once", p.threads},
            {"blocks at once", p.blocks},
            {"registers", p.registers},
            {"bytes of shared memory", p.shared_bytes}};
}

const char *name_of(Source s) {
    switch (s) {
    case Source::doc: return "DOC";
    case Source::fit: return "FIT";
    default: return "ASSUMED";
    }
}

}  // namespace halyard::ptx
