// The terms of sync planning: positions in a run of a program, planned syncs, and conflicts between
// accesses.
#pragma once
#include <vector>

#include "ascend/program/ir.h"

namespace halyard::dv {

// A position in one run of a program: a child of a body in one iteration of the loop around.
struct Position {
    const Body *body;
    int child;
    int64_t iteration;  // the iteration of the loop around the body
};
using Path = std::vector<Position>;  // from the program's body inwards

// A pair of set and wait, or a barrier: the set after child `after` of a body, the wait or the
// barrier before child `before`.
struct Sync {
    const Body *body = nullptr;
    int after = 0, before = 0;
    Pipe src = Pipe::s;
    Pipe dst = Pipe::s;  // a barrier has dst == src
    int slots = 1;       // the number of ids, one per slot of the guarded buffer
    Expr set_slot, wait_slot;
    // Waits for the set of the previous iteration. The flag is set before the loop as well, and
    // waited for after it.
    bool carried = false;
    int root = 0;   // of a carried sync: the child of the program's body that contains the loop
    int group = 0;  // syncs of one group share ids
    int id = 0;     // the first id
    bool barrier() const { return src == dst; }
};

// Two accesses, or two uses of a flag, that no sync orders.
struct Conflict {
    Path first, second;
    Pipe src = Pipe::s;
    Pipe dst = Pipe::s;
    int slots = 1;
    Expr first_slot, second_slot;
    bool double_set = false;  // a flag is set twice: its group can't be shared
};

}  // namespace halyard::dv
