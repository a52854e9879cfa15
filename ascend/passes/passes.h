// What happens to a program between the author and the chip: places for buffers, then flags.
// Lowered and built programs take the same way:
//   place_buffers(p), insert_sync(p), verify(p) (check.h), simulate() or an emitter.
// Lowered ones are prefetched first.
#pragma once
#include "ascend/passes/issue.h"
#include "ascend/program/ir.h"

namespace halyard::dv {

// In loops where the scalar unit waits for results: loads of a turn that go to the slots of a
// double buffer for the vector unit are issued one turn before, with flags of their own. Programs
// that have flags already stay as they are.
void prefetch(Program &p);

// Gives every buffer an address. Buffers that live at different times share memory; within one body
// only temporaries of the vector unit do, because a move into memory that was just read would have
// to wait. Of two sources of a vector operation one begins in the other half of ubuf's bank groups,
// where there is room for that. Returns E-CAP where a scope is full.
std::vector<Issue> place_buffers(Program &p);

struct SyncReport {
    int flags = 0, barriers = 0;  // pairs of set and wait, pipe barriers
    // how long the runs are that were looked at, and how much of them was, again and again
    int64_t traced = 0, walked = 0;
    std::vector<Issue> issues;  // W-SYNC where ids ran out
};
// Inserts flags and barriers so that no two accesses race, and no more: without any one of them
// some would. Buffers need addresses. A program that has flags of its own keeps them, and gets what
// is missing.
SyncReport insert_sync(Program &p);

}  // namespace halyard::dv
