// What the simulation of a core records: statistics and a timeline.
#pragma once
#include <array>
#include <vector>

#include "ascend/program/ir.h"

namespace halyard::dv {

// The statistics of a core, in cycles and bytes.
struct CoreStats {
    double cycles = 0;  // until the end of its last block
    std::array<double, pipe_count> busy = {};
    // Cycles during which the scalar unit waited because the pipe's queue was full.
    std::array<double, pipe_count> queue_full = {};
    // Busy cycles by kind.
    double cube_fp16 = 0, cube_int8 = 0, vector_fp16 = 0, vector_fp32 = 0, vector_int32 = 0,
           vector_misc = 0;
    // Cycles lost by conflicts of ubuf's banks.
    double group_clash = 0, bank_clash = 0;
    double scalar_loads = 0, scalar_stores = 0;
    std::array<double, scope_count> read = {}, written = {};  // bytes, without GM
    double cube_read = 0, cube_written = 0;                   // bytes of l0c, by mmads
    double gm_read = 0, gm_write = 0, l2_read = 0, l2_write = 0;
    double instructions = 0;
};

// An instruction on a pipe, in cycles.
struct Event {
    const Instr *instr = nullptr;
    Pipe pipe = Pipe::s;
    double start = 0, end = 0;
};
using CoreTimeline = std::vector<Event>;

}  // namespace halyard::dv
