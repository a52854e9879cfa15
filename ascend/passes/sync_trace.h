// The trace of one run of a program before any flag is planned: its instructions in order, and the
// bytes that they access. Planning runs through a trace many times, so all that no plan changes is
// computed once.
#pragma once
#include <map>

#include "ascend/passes/clocks.h"
#include "ascend/passes/planned_sync.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

struct Access {
    Scope scope = Scope::gm;
    int tensor = -1;
    // The slot, or the part of it that an instruction without variables accesses.
    int64_t begin = 0, end = 0;
    int64_t first_byte = 0, last_byte = 0;  // accessed in this iteration
    bool write = false;
    const Ref *ref = nullptr;
    // Equal for accesses of one operand of one instruction to the same bytes.
    size_t number = 0;
};

// A point in time of a run.
struct Moment {
    Path path;
    std::vector<std::pair<std::string, int64_t>> vars;  // loop variables
    // Returns the value of `e`. Registers and parameters are taken to be 0: any value would do.
    int64_t value(const Expr &e) const;
};

struct SyncEvent {
    // The beginning or the end of a child of a body, or the instruction that it is.
    enum Kind : uint8_t { before, after, instr } kind;
    int child = 0;  // before, after: the child's number
    int moment = 0;
    const Instr *is = nullptr;
    Pipe pipe = Pipe::s;
    std::vector<Access> accesses;
    int64_t id = 0;  // the id of a flag that the program has itself
};

struct Trace {
    std::vector<SyncEvent> events;
    std::vector<Moment> moments;
    std::map<std::pair<const Body *, int>, int> children;  // their numbers
    size_t numbers = 0;                                    // the number of different accesses
    int undecided = 0;  // the largest number of nested branches whose conditions aren't known
};

// Returns the trace of the first and the last iterations of each loop. The branches of conditions
// that aren't known alternate; bit d of `choice` is the branch with which those within d others
// begin.
Trace trace_of(const Program &p, int choice);

}  // namespace halyard::dv
