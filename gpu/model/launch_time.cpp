#include "gpu/model/launch_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "registry/base/error.h"

namespace halyard::ptx {
namespace {

constexpr double warp = 32;

struct Unit {
    const char *name;
    double cycles;
};

bool is_special(const std::string &opcode) {
    return opcode.find(".approx") != std::string::npos || opcode.starts_with("sqrt") ||
           opcode.starts_with("div.") || opcode.starts_with("rcp");
}

// Returns the number of instructions of warps that `is_one` is true for.
template<class Is> double warps_of(const Counts &c, const Is &is_one) {
    double sum = 0;
    for (const auto &[opcode, executed] : c.by_opcode)
        if (is_one(opcode)) sum += double(executed.warps);
    return sum;
}

bool is_memory(const std::string &opcode) {
    return opcode.starts_with("ld.") || opcode.starts_with("st.");
}

// Returns the cycles of each unit of one multiprocessor for all blocks together.
std::vector<Unit> units(const GpuProfile &gpu, const Counts &c) {
    const auto computes = [&](const std::string &type) {
        return warps_of(c, [&](const std::string &opcode) {
            return !is_memory(opcode) && !is_special(opcode) && opcode.ends_with(type);
        });
    };
    const double special = warps_of(c, is_special);
    const double i32 = computes(".s32") + computes(".u32") + computes(".b32");
    const double requests = double(c.global_loads + c.global_stores + c.shared_requests);
    return {
        {"issue", double(c.warp_instructions) / gpu.issue.value},
        {"f32", computes(".f32") * warp / gpu.f32_width.value},
        {"i32", i32 * warp / gpu.i32_width.value},
        {"special functions", special * warp / gpu.sfu_width.value},
        {"f64", computes(".f64") * warp / gpu.f64_width.value},
        {"requests", requests / gpu.requests.value},
        {"shared memory and L1", double(c.lines + c.shared_wavefronts) / gpu.lines.value},
    };
}

// Returns how many blocks are on a multiprocessor at once.
uint64_t blocks_that_fit(const GpuProfile &gpu, const LaunchFacts &f, double threads) {
    // Registers are allocated to warps in pieces of 256.
    const double warps = std::ceil(threads / warp);
    const double registers = warps * std::ceil(std::max(f.registers, 16U) * warp / 256) * 256;
    double fit = std::min({gpu.blocks.value, std::floor(gpu.threads.value / (warps * warp)),
                           std::floor(gpu.registers.value / registers)});
    if (f.shared_bytes > 0)
        fit = std::min(fit, std::floor(gpu.shared_bytes.value / double(f.shared_bytes)));
    if (fit < 1)
        throw DeviceError("gpu", f.kernel + ": a block of " + std::to_string(uint64_t(threads)) +
                                     " threads, " + std::to_string(f.registers) +
                                     " registers and " + std::to_string(f.shared_bytes) +
                                     " bytes of shared memory doesn't fit into " + gpu.description);
    return uint64_t(fit);
}

// Returns the cycles that a warp waits for global memory: between two barriers once, for what no
// warp has read yet; without barriers whenever as many loads are in flight as it can have, for the
// L1 cache or for what is beyond it.
double waiting_cycles(const GpuProfile &gpu, const Counts &c, double blocks, double threads) {
    const double loads = double(c.global_loads) / (blocks * std::ceil(threads / warp));
    const double phases = double(c.barriers) / blocks / 2;
    if (phases > 0) return std::min(loads, std::ceil(phases)) * gpu.latency.value;
    const double sectors = double(c.load_sectors + c.store_sectors);
    const double misses = sectors > 0 ? double(c.block_sectors) / sectors : 0;
    const double latency = misses * gpu.latency.value + (1 - misses) * gpu.l1_latency.value;
    return std::ceil(loads / gpu.loads_in_flight.value) * latency;
}

}  // namespace

LaunchTime modelled_time(const GpuProfile &gpu, const LaunchFacts &f) {
    constexpr auto sector = double(sector_bytes);
    const Counts &c = f.counts;
    const double threads = double(f.shape.block[0]) * f.shape.block[1] * f.shape.block[2];
    const double blocks = double(f.shape.grid[0]) * f.shape.grid[1] * f.shape.grid[2];
    LaunchTime time;
    time.blocks_at_once = blocks_that_fit(gpu, f, threads);
    time.occupancy = double(time.blocks_at_once) * threads / gpu.threads.value;

    const std::vector<Unit> all = units(gpu, c);
    const Unit &busiest = *std::ranges::max_element(all, {}, &Unit::cycles);
    const double others = std::accumulate(all.begin(), all.end(), -busiest.cycles,
                                          [](double sum, const Unit &u) { return sum + u.cycles; });
    const double of_block = (busiest.cycles + gpu.exposed.value * others) / blocks;
    const double each = std::ceil(blocks / gpu.multiprocessors.value);  // blocks in turn
    const double at_once = std::min(each, double(time.blocks_at_once));
    const double waiting = (waiting_cycles(gpu, c, blocks, threads) + of_block) / at_once;
    const double ghz = gpu.gigahertz.value;
    const double dram = double(c.launch_sectors) * sector / gpu.dram_bytes.value * ghz;
    const Unit bounds[] = {
        {busiest.name, each * of_block},
        {"latency", each * waiting},
        {"L2", double(c.block_sectors) * sector / gpu.l2_bytes.value},
        {"DRAM", dram},
    };
    const Unit &longest = *std::ranges::max_element(bounds, {}, &Unit::cycles);
    time.bound = longest.name;
    time.microseconds = longest.cycles / ghz / 1e3;
    time.dram_share = dram / longest.cycles;
    return time;
}

}  // namespace halyard::ptx
