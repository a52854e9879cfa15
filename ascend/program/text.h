// The text form of a program (.dv): one node per line, printed and parsed without loss.
//
//   program add_relu ascend910 blocks=8
//   gm x f16[65536] in
//   scalar eps f32
//   alloc ubuf ux f16[2048] slots=2 align=32 @0
//   for i in 0, 4 {
//     data_move ux{i % 2}[0], x[block_idx * 8192 + i * 2048]  nburst=1 burst=128 src_gap=0
//     dst_gap=0  // add.cpp:12 vec_add uz{i % 2}[0], ux{i % 2}[0], uy{i % 2}[0]  mask=128 repeat=16
//     blk=1,1,1 rep=8,8,8
//   }
//
// NAME{slot}[offset]; NAME:f32[offset] reads another type than the buffer's; what follows // is the
// instruction's `where`.
#pragma once
#include <string>

#include "ascend/program/ir.h"

namespace halyard::dv {

std::string to_text(const Program &p);
std::string to_text(const Program &p, const Instr &i);  // one instruction, without `where`
// AttrError with the line's number and what was expected there
Program parse_program(const std::string &text);

}  // namespace halyard::dv
