// Compile: the programs of one call of an op, ready to run.
#pragma once
#include "ascend/passes/issue.h"
#include "dsl/ascend/lowering/lower.h"

namespace halyard::ascend {

struct Compiled {
    Lowered lowered;                   // placed, with flags
    Tunables tunables;                       // of the schedule that fits
    std::vector<std::string> handwritten;  // the op's variants that are written by hand
    // of placing, synchronising and verifying: warnings, and of one schedule alone E-CAP where it
    // doesn't fit
    std::vector<dv::Issue> issues;
    // what the program that doesn't fit needs of its fullest memory
    double excess = 1;
};

// A kernel with the schedule it has.
Compiled compile(Kernel &k, bool strict = false);

// Values of the automatic schedule's pick "shrink": each takes an eighth off the tiles.
inline constexpr int shrink_steps = 48;

// Tries the schedule's largest tiles first and smaller ones until every buffer has its place on the
// chip. Tunables that `i` gives stay as they are. Throws DispatchError where nothing fits, or the op
// has no Ascend program; with `strict` also where the scalar unit steps in.
Compiled compile(const OpTable &ops, const std::string &op, const Instance &i, bool strict = false);

}  // namespace halyard::ascend
