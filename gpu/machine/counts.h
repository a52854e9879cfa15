// What a launch did, counted.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace halyard::ptx {

// Global memory is read and written in whole sectors.
constexpr uint64_t sector_bytes = 32;

struct Executed {
    uint64_t warps = 0;  // instructions issued to a warp
    uint64_t lanes = 0;  // and the threads that executed them
};

struct Counts {
    std::map<std::string, Executed> by_opcode;  // "ld.global.f32"
    uint64_t warp_instructions = 0, lane_instructions = 0;
    uint64_t branches = 0, divergent_branches = 0;  // of warps
    uint64_t barriers = 0;                          // of blocks
    // A request is a warp's access. A sector is aligned to its size; a line is four sectors.
    uint64_t global_loads = 0, global_stores = 0, load_sectors = 0, store_sectors = 0;
    // The lines of all requests, and the sectors touched, each counted once for each block, and
    // once for the launch. Zero unless Machine::note_sectors() asks for them.
    uint64_t lines = 0, block_sectors = 0, launch_sectors = 0;
    // Shared memory answers a request in one wavefront, or more if its bytes need several words of
    // a bank.
    uint64_t shared_requests = 0, shared_wavefronts = 0, least_wavefronts = 0;
    uint64_t blocks = 0, launches = 0;

    void add(const Counts &o);
};

}  // namespace halyard::ptx
