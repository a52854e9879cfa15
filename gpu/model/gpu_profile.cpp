#include "gpu/model/gpu_profile.h"

#include <algorithm>
#include <vector>

#include "registry/base/error.h"

namespace halyard::ptx {
namespace {

// doc: NVIDIA's architecture whitepapers of GA102, A100 and H100, and the table of compute
// capabilities in its CUDA programming guide.
const std::vector<GpuProfile> profiles = {{.name = "a6000",
                                           .description = "RTX A6000 (GA102)",
                                           .multiprocessors = doc(84),
                                           .gigahertz = doc(1.8),
                                           .f32_width = doc(128),
                                           .f64_width = doc(2),
                                           .requests = fit(0.75),
                                           .l2_bytes = assumed(2688),
                                           .dram_bytes = doc(768),
                                           .latency = fit(600),
                                           .exposed = fit(0.1),
                                           .threads = doc(1536),
                                           .blocks = doc(16),
                                           .shared_bytes = doc(100 << 10)},
                                          {.name = "a100",
                                           .description = "A100 SXM 80 GB",
                                           .multiprocessors = doc(108),
                                           .gigahertz = doc(1.41),
                                           .f32_width = doc(64),
                                           .f64_width = doc(32),
                                           .l2_bytes = doc(5120),
                                           .dram_bytes = doc(2039),
                                           .threads = doc(2048),
                                           .blocks = doc(32),
                                           .shared_bytes = doc(164 << 10)},
                                          {.name = "h100",
                                           .description = "H100 SXM",
                                           .multiprocessors = doc(132),
                                           .gigahertz = doc(1.83),
                                           .f32_width = doc(128),
                                           .f64_width = doc(64),
                                           .l2_bytes = assumed(5120),
                                           .dram_bytes = doc(3350),
                                           .threads = doc(2048),
                                           .blocks = doc(32),
                                           .shared_bytes = doc(228 << 10)}};

}  // namespace

const GpuProfile &GpuProfile::named(const std::string &name) {
    const auto found = std::ranges::find(profiles, name, &GpuProfile::name);
    if (found != profiles.end()) return *found;
    std::string known;
    for (const GpuProfile &p : profiles)
        known += (known.empty() ? "" : ", ") + p.name;
    throw AttrError("gpu", "no profile '" + name + "'; known: " + known);
}

}  // namespace halyard::ptx
