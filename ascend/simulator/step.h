// One instruction as it is issued: all expressions evaluated, all operands placed.
#pragma once
#include <array>

#include "ascend/program/ir.h"

namespace halyard::dv {

// Where an operand begins, in bytes of its scope or its GM tensor, and between which bytes it must
// stay: its slot, or the tensor.
struct Location {
    Scope scope = Scope::gm;
    int tensor = -1;  // of GM: its place among the program's tensors
    int64_t at = 0, begin = 0, end = 0;
    DType dtype = DType::f16;
    bool read = false, written = false;
};

struct Step {
    const Instr *instr = nullptr;  // in the program
    Instr::Op op;                  // the same with constants
    Pipe pipe = Pipe::s;
    std::array<Location, 4> locations = {};  // in the order of operands()
    int count = 0;                     // of places
    double number = 0;                 // of a vector operation's register or immediate
    bool settled = false;              // only where its operands lie differs from turn to turn
};

}  // namespace halyard::dv
