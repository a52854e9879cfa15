// Step: one instruction as it is issued, with all expressions evaluated and all operands located.
#pragma once
#include <array>

#include "ascend/program/ir.h"

namespace halyard::dv {

// The first byte of an operand in its scope or its GM tensor, and the bytes of its slot or tensor,
// in which it must stay.
struct Location {
    Scope scope = Scope::gm;
    int tensor = -1;  // the number of its tensor in GM
    int64_t at = 0, begin = 0, end = 0;
    DType dtype = DType::f16;
    bool read = false, written = false;
};

struct Step {
    const Instr *instr = nullptr;  // the instruction in the program
    Instr::Op op;                  // the same with constants
    Pipe pipe = Pipe::s;
    std::array<Location, 4> locations = {};  // in the order of operands()
    int count = 0;                           // the number of locations
    double number = 0;                       // the value of a register or immediate operand
    bool settled = false;  // all fields but the locations are constant in the program
};

}  // namespace halyard::dv
