// The PTX machine: runs the kernels of a module block by block, and finds what a GPU would let
// pass.
//
// The threads of a warp execute together; where they diverge, those at the lowest place in the text
// run first. The warps of a block take turns from barrier to barrier. Blocks run one after another.
// So a kernel without races has the results of a GPU, bit by bit; a race is reported, whatever the
// order here makes of it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gpu/machine/counts.h"
#include "gpu/machine/finding.h"
#include "gpu/machine/memory.h"
#include "gpu/machine/program.h"

namespace halyard::ptx {

// A module with its variables in device memory. Entries are decoded when they are first needed.
class LoadedModule {
public:
    // Throws DeviceError if the text can't be parsed.
    LoadedModule(const std::string &text, Memory &memory);
    ~LoadedModule();
    LoadedModule(const LoadedModule &) = delete;
    LoadedModule &operator=(const LoadedModule &) = delete;

    const Module &module() const { return module_; }
    bool has(const std::string &entry) const { return module_.find(entry) != nullptr; }
    // Throws DeviceError if there is no such entry, or if it has an instruction that the machine
    // lacks.
    const Program &program(const std::string &entry);

private:
    Module module_;
    Memory &memory_;
    std::map<std::string, uint64_t> addresses_;
    std::map<std::string, std::unique_ptr<Program>> programs_;
};

struct LaunchShape {
    Index3 grid{1, 1, 1}, block{1, 1, 1};
    uint64_t dynamic_shared = 0;  // bytes
};

class Machine {
public:
    Memory memory;

    // Runs the kernel. `arguments` are the values of its parameters, at their offsets. Returns what
    // was found; a finding that ends launches is the last one. Throws DeviceError if the shape is
    // not a launch's.
    std::vector<Finding> launch(const Program &p, const LaunchShape &shape,
                                const std::vector<uint8_t> &arguments);

    const Counts &counts() const { return counts_; }
    void reset_counts() { counts_ = {}; }
    const Counts &last_launch() const { return last_launch_; }
    // Launches count lines, and the sectors of blocks and launches, from now on. That
    // slows the machine down where kernels do little but load.
    void note_sectors() { notes_sectors_ = true; }
    // The branches that the warps of a launch may execute.
    void set_limit(uint64_t branches) { limit_ = branches; }

private:
    Counts counts_, last_launch_;
    bool notes_sectors_ = false;
    uint64_t next_run_ = 2;  // 1 is the host's
    uint64_t limit_ = uint64_t(1) << 33;
};

}  // namespace halyard::ptx
