// The order that flags give to the accesses of a program, as insert_sync() plans it: beside the
// tree, in terms of its bodies.
#pragma once
#include <map>
#include <memory>

#include "ascend/passes/clocks.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

// Where something is in one run of a program: which child of each body, in which turn of each loop.
struct Position {
    const Body *body;
    int child;
    int64_t turn;  // of the loop whose body it is
};
using Path = std::vector<Position>;  // from the program's body inwards

// A pair of set and wait, or a barrier: the set after child `after` of a body, the wait or the
// barrier before child `before`.
struct Sync {
    const Body *body = nullptr;
    int after = 0, before = 0;
    Pipe src = Pipe::s;
    Pipe dst = Pipe::s;  // the same: a barrier
    int slots = 1;       // ids, one per slot of the buffer it guards
    Expr set_slot, wait_slot;
    // to the next turn of the loop: set before the first one, waited for after the last
    bool carried = false;
    int root = 0;   // carried: the child of the program's body that holds the loop
    int group = 0;  // syncs of one group share ids
    int id = 0;     // the first one
    bool barrier() const { return src == dst; }
};

// Two accesses, or two uses of a flag, that nothing orders.
struct Conflict {
    Path first, second;
    Pipe src = Pipe::s;
    Pipe dst = Pipe::s;
    int slots = 1;
    Expr first_slot, second_slot;
    bool double_set = false;  // a flag set while it is: its group can't be shared
};

// Runs through a program with some turns of each loop (the first ones and the last ones) and
// planned syncs. On the chip an access is to all of its slot, unless the instruction has no
// variable in it. The program must stay as it is.
class Conflicts {
public:
    explicit Conflicts(const Program &p);
    ~Conflicts();
    // Nothing where all is in order. Costs the less, the later in a run this plan and the last one
    // that was asked for differ first.
    std::optional<Conflict> first(const std::vector<Sync> &plan);
    bool none(const std::vector<Sync> &plan);  // the same question, where it doesn't matter which

    struct Work {
        // events of all traces, and those that all questions so far went through
        int64_t traced = 0, walked = 0;
    };
    Work work() const;

private:
    class Finder;
    // the finder that answered none() with a conflict
    size_t last_ = 0;
    // a condition on block_idx holds in some blocks only: a second run takes the other branches
    std::vector<std::unique_ptr<Finder>> finders_;
};

}  // namespace halyard::dv
