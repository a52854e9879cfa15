// One run of a program as insert_sync() sees it, before any flag is planned: what happens in which
// order, and what it touches. Planning runs through it many times, so all that no plan changes is
// worked out once.
#pragma once
#include <map>

#include "ascend/passes/sync_plan.h"

namespace halyard::dv {

struct Access {
    Scope scope = Scope::gm;
    int tensor = -1;
    // the slot, or what an instruction without variables touches of it
    int64_t begin = 0, end = 0;
    int64_t first_byte = 0, last_byte = 0;  // what it touches in this turn
    bool write = false;
    const Ref *ref = nullptr;
    // of a turn like this one: the same operand of the same instruction that touches the same bytes
    size_t number = 0;
};

struct Moment {  // where a run stands
    Path path;
    std::vector<std::pair<std::string, int64_t>> vars;  // of the loops
    // a register or a parameter is 0: any value will do
    int64_t value(const Expr &e) const;
};

struct SyncEvent {
    // a child of a body, or the instruction that it is
    enum Kind : uint8_t { before, after, instr } kind;
    int child = 0;  // before, after: its number
    int moment = 0;
    const Instr *is = nullptr;
    Pipe pipe = Pipe::s;
    std::vector<Access> accesses;
    int64_t id = 0;  // of the program's own flags
};

struct Trace {
    std::vector<SyncEvent> events;
    std::vector<Moment> moments;
    std::map<std::pair<const Body *, int>, int> children;  // numbered
    size_t numbers = 0;                                    // of accesses
    // conditions that aren't known, within each other
    int undecided = 0;
};

// Runs through some turns of each loop, the first ones and the last ones. Of conditions that aren't
// known the branches alternate; bit d of `choice` says with which one those begin that are within d
// others.
Trace trace_of(const Program &p, int choice);

}  // namespace halyard::dv
