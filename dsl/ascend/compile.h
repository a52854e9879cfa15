// Compiles the programs of one call of an op, ready to run.
#pragma once
#include "ascend/passes/issue.h"
#include "dsl/ascend/lowering/lower.h"

namespace halyard::ascend {

struct Compiled {
    Lowered lowered;                       // with addresses and flags
    Tunables tunables;                     // the tunables of the schedule that fits
    std::vector<std::string> handwritten;  // names of the op's handwritten variants
    // Warnings of placing, synchronising and verifying; E-CAP if this schedule doesn't fit.
    std::vector<dv::Issue> issues;
    // If a program doesn't fit: the bytes it needs of its fullest memory, relative to the memory's
    // size.
    double excess = 1;
};

// Compiles a kernel with the schedule it has. Throws DispatchError if the op has no Ascend program.
Compiled compile(Kernel &k, bool strict = false);

// Tries the schedule's largest tiles first, then smaller ones, until all buffers fit the chip.
// Tunables of `i` aren't changed. Throws DispatchError if nothing fits or the op has no Ascend
// program; with `strict` also if the scalar unit computes elements.
Compiled compile(const OpTable &ops, const std::string &op, const Instance &i, bool strict = false);

}  // namespace halyard::ascend
