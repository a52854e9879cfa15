// The innermost loops of a kernel's assembly: their instructions, and how many work on vectors.
#pragma once
#include <string>
#include <vector>

namespace halyard {

struct LoopCounts {
    std::string function, label;  // "hy_relu_f32_neon_par_for_...", ".LBB0_12"
    int instructions = 0;         // of one iteration that takes no branch forward
    int vectors = 0;              // those of them with a vector of more than one element
};

// Returns the loops that contain no other, in the order of the text, which is what
// `halyard lower --to asm` prints: x86-64 in AT&T's syntax, or AArch64. A loop is what lies between
// a label and a branch back to it.
std::vector<LoopCounts> innermost_loops(const std::string &assembly);

// Returns the loops as a table, a line each.
std::string counts_text(const std::vector<LoopCounts> &loops);

}  // namespace halyard
