// The syncs that insert_sync() plans, and a search for accesses that they don't order. Syncs refer
// to positions in the program's bodies; the program isn't changed.
#pragma once
#include <map>
#include <memory>

#include "ascend/passes/clocks.h"
#include "ascend/simulator/walker.h"

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

// Runs a program with some iterations of each loop (the first and the last ones) and with planned
// syncs. An access on the chip is taken to be to its whole slot, unless the instruction has no
// variables. The program must outlive this object unchanged.
class Conflicts {
public:
    explicit Conflicts(const Program &p);
    ~Conflicts();
    // Returns the first conflict under a plan, if there is one. The later in the run the plan
    // differs from the last one, the less time this takes.
    std::optional<Conflict> first(const std::vector<Sync> &plan);
    // Returns true if there is no conflict under a plan.
    bool none(const std::vector<Sync> &plan);

    struct Work {
        int64_t traced = 0;  // events of all traces
        int64_t walked = 0;  // events that all calls so far have processed
    };
    Work work() const;

private:
    class Finder;
    size_t last_ = 0;  // the finder in which none() found a conflict last
    // One per combination of undecided branches: a condition on block_idx holds in some blocks
    // only.
    std::vector<std::unique_ptr<Finder>> finders_;
};

}  // namespace halyard::dv
