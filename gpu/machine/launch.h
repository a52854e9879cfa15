// A launch while it runs: what steps may ask of it.
#pragma once
#include <map>
#include <vector>

#include "gpu/machine/counts.h"
#include "gpu/machine/finding.h"
#include "gpu/machine/memory.h"
#include "gpu/machine/program.h"
#include "gpu/machine/touched_sectors.h"

namespace halyard::ptx {

// Ends a launch: a GPU would stop here.
struct Stopped {};

struct Launch {
    Launch(const Program &p, Memory &m, const std::vector<uint8_t> &arguments, uint64_t shared_size,
           uint64_t first)
        : program(p), memory(m), parameters(arguments), shared(0, 0, shared_size), first_run(first),
          run(first) {}

    // Notes a finding once for each fault and step. Throws Stopped if the fault ends launches.
    void report(Fault fault, const Step &s, const Warp &w, uint32_t lane, const std::string &what);
    // Return true if the fault was reported for this step already: then it is only counted.
    bool counted(Fault fault, const Step &s);

    Stamp stamp(const Warp &w, uint32_t lane) const {
        return {run, phase, w.number * lanes + lane};
    }
    Index3 thread_of(uint64_t number) const;
    Index3 block_of(uint64_t block_run) const;

    const Program &program;
    Memory &memory;
    const std::vector<uint8_t> &parameters;
    Buffer shared;  // of the block that runs
    bool shared_used = false;
    Index3 grid{}, block{}, at{};
    // Blocks are numbered over all launches.
    uint64_t first_run, run, phase = 0;
    Counts counts;
    std::vector<Executed> executed;  // by step
    std::vector<Finding> findings;
    Buffer *last = nullptr;  // the buffer of the last access
    bool notes_sectors = false;
    TouchedSectors touched;  // if it notes them

private:
    std::map<std::pair<Fault, const Step *>, size_t> reported_;  // the finding
};

}  // namespace halyard::ptx
