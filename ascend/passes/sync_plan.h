// The syncs that insert_sync() plans, and a search for accesses that they don't order. Syncs refer
// to positions in the program's bodies; the program isn't changed.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "ascend/passes/planned_sync.h"

namespace halyard::dv {

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
