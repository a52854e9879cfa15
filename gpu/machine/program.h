// A kernel as the machine runs it: steps with their registers as numbers, and the state of 32
// threads that execute them together.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpu/ptx/module.h"

namespace halyard::ptx {

constexpr uint32_t lanes = 32;
constexpr uint32_t all_lanes = 0xFFFF'FFFF;

// A register of the threads of a warp. A value narrower than 64 bits stands in the lowest ones; the
// others extend a signed integer, and are 0 otherwise.
using Row = std::array<uint64_t, lanes>;

struct Launch;
struct Step;

// The threads of a warp. Threads that diverged have their own places; those at the lowest one run.
struct Warp {
    Launch *launch = nullptr;
    uint32_t number = 0;                // in its block
    uint32_t begun = 0;                 // the lanes that have a thread
    uint32_t live = 0, waiting = 0;     // not ended; at a barrier
    std::vector<Row> rows;              // constants, special registers, registers
    std::vector<uint32_t> predicates;   // a bit a lane; the first is true for all
    std::array<uint32_t, lanes> place;  // the step of each lane that doesn't run
};

// Executes a step for the lanes of `mask`, which isn't 0.
using Execute = void (*)(const Step &, Warp &, uint32_t mask);

enum class Control : uint8_t { next, branch, barrier, exit };

struct Step {
    Execute execute = nullptr;
    Control control = Control::next;
    uint32_t guard = 0, guard_flip = 0;  // the predicate, and the bits of its lanes to flip
    // Numbers of rows, or of predicates. What they mean is the instruction's business.
    uint32_t to = 0, a = 0, b = 0, c = 0;
    uint32_t flip = 0;               // the lanes to flip of the predicate operand
    uint32_t target = 0;             // of a branch
    uint32_t count = 1;              // elements of a vector
    uint64_t offset = 0;             // of an address
    std::array<uint32_t, 4> list{};  // the rows of a vector
    uint32_t list_used = 0;          // the elements that aren't _
};

enum class Special : uint8_t { tid, ntid, ctaid, nctaid, laneid, warpid };

struct Program {
    struct SpecialRow {
        uint32_t row;
        Special special;
        uint32_t dimension;  // 0 to 2: x, y, z
    };
    std::string name;
    const Entry *entry = nullptr;
    std::vector<Step> steps;  // one for each statement, then an exit
    uint32_t rows = 0, predicates = 0;
    std::vector<std::pair<uint32_t, uint64_t>> constants;  // row, value
    std::vector<SpecialRow> specials;
    uint64_t shared_bytes = 0;  // without the dynamic ones, which follow
    uint64_t dynamic_alignment = 1;
    uint64_t local_bytes = 0;  // of each thread

    // Returns the statement of a step; null for the last one.
    const Statement *statement(uint32_t step) const {
        return step < entry->code.size() ? &entry->code[step] : nullptr;
    }
};

// Returns the program of an entry. `addresses` are those of the module's variables in global and
// constant memory. Throws DeviceError "[ptx] line N: OPCODE is not supported".
Program decode(const Module &module, const Entry &entry,
               const std::map<std::string, uint64_t> &addresses);

}  // namespace halyard::ptx
