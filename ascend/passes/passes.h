// Passes over a program: they give buffers addresses and insert flags. The order is
//   place_buffers(p), insert_sync(p), verify(p) (check.h), then simulate() or an emitter.
// Programs that lowering has made are prefetched first.
#pragma once
#include "ascend/passes/issue.h"
#include "ascend/program/ir.h"

namespace halyard::dv {

// In loops in which the scalar unit waits for results, issues the loads to double buffers of the
// vector unit one iteration ahead, with flags of their own. A program that has flags isn't changed.
void prefetch(Program &p);

// Gives every buffer an address. Buffers that live at different times share memory. Within one body
// only temporaries of the vector unit do, because a move would wait for reads of the memory that it
// overwrites. The two sources of a vector operation begin in different halves of ubuf's bank
// groups, if there is room. Returns E-CAP for each scope that is full.
std::vector<Issue> place_buffers(Program &p);

struct SyncReport {
    int flags = 0, barriers = 0;  // pairs of set and wait; pipe barriers
    int64_t traced = 0;           // events of the traced runs
    int64_t walked = 0;           // events that were processed, often several times each
    std::vector<Issue> issues;    // W-SYNC for pairs of pipes with too few ids
};
// Inserts flags and barriers so that no two accesses race; each of them is needed. Buffers must
// have addresses (AttrError). Flags of the program are kept, and only the missing ones are
// inserted.
SyncReport insert_sync(Program &p);

}  // namespace halyard::dv
