// Checks of one instruction that need no execution: types, routes, ranges of fields, alignment. The
// simulator checks every step, for which all values are known; verify() checks the program, for
// which some values are known as ranges only.
#pragma once
#include "ascend/passes/issue.h"
#include "ascend/simulator/step.h"

namespace halyard::dv {

using Ranges = std::function<std::optional<Range>(const std::string &variable)>;

// Checks all of `i` except the addresses of its operands.
void check_instr(const Program &p, const Instr &i, const Ranges &ranges, const Report &report);
// Returns the number of bytes to which operand `k` must be aligned.
int64_t alignment(const Profile &chip, const Instr::Op &op, int k, Scope scope, DType t);
// Returns the text by which messages name an instruction: "vec_add ux[0], .. (add.cpp:12)".
std::string describe(const Program &p, const Instr &i);

// Runs all static checks: capacities (of buffers with addresses), alignment, and check_instr() for
// each instruction. Returns the issues, in the order of the program.
std::vector<Issue> verify(const Program &p);

}  // namespace halyard::dv
