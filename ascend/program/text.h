// The text form of a program (.dv): one node per line, printed and parsed without loss. In
// NAME{slot}[offset] and NAME:f32[offset] the latter reads another type than the buffer's. The text
// after
// // is the instruction's `where`.
//
//   program add_relu ascend910 blocks=8
//   gm x f16[65536] in
//   scalar eps f32
//   alloc ubuf ux f16[2048] slots=2 align=32 @0
//   for i in 0, 4 {
//     data_move ux{i % 2}[0], x[block_idx * 8192 + i * 2048]  burst=128  // add.cpp:12
//     vec_add uz{i % 2}[0], ux{i % 2}[0], uy{i % 2}[0]  mask=128 repeat=16 rep=8,8,8
//   }
#pragma once
#include <string>

#include "ascend/program/ir.h"

namespace halyard::dv {

std::string to_text(const Program &p);
std::string to_text(const Program &p, const Instr &i);  // one instruction, without `where`
// Throws AttrError with the number of the line and what is expected there.
Program parse_program(const std::string &text);

}  // namespace halyard::dv
