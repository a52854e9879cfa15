// What can be said of one instruction without running it: types, routes, field ranges, alignment.
// The simulator asks it of every step, where all values are known; verify() of the program, where
// some are only known as ranges.
#pragma once
#include "ascend/passes/issue.h"
#include "ascend/simulator/step.h"

namespace halyard::dv {

using Ranges = std::function<std::optional<Range>(const std::string &variable)>;

// Everything about `i` but where its operands lie.
void check_instr(const Program &p, const Instr &i, const Ranges &ranges, const Report &report);
// Bytes that operand `k` must be aligned to.
int64_t alignment(const Profile &chip, const Instr::Op &op, int k, Scope scope, DType t);
// "vec_add ux[0], .. (add.cpp:12)": how messages name an instruction.
std::string describe(const Program &p, const Instr &i);

// The static part of all checks: capacities (needs addresses), structure, and check_instr on
// everything. Empty: nothing found.
std::vector<Issue> verify(const Program &p);

}  // namespace halyard::dv
