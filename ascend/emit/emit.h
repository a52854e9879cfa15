// A program in the languages of the vendor's tools. Nothing of it has met the vendor's compilers:
// what is emitted is tested by running it under shims of our own. AttrError "E-EMIT: ..." names
// what a language can't say.
#pragma once
#include "ascend/program/ir.h"

namespace halyard::dv {

// `kernel` defines haly_NAME(tensors.., kernel_name) and builds it; `registration` is MindSpore's
// TBERegOp file for it, and `ini` what other frameworks read.
struct PythonFiles {
    std::string kernel, registration, ini;
};
// TIK, which inserts flags and places buffers itself, so those of the program are left out; slots
// are thread_num where a loop turns them. The cube's instructions have TIK's low-level names,
// load2dv1, load3dv1, mmad and tensor_mov; row maxima without their places are two maxima by
// blocks.
PythonFiles emit_tik(const Program &p);

// One Ascend C translation unit: kernel haly_NAME(GM_ADDR.., scalars), with the program's own
// places and flags.
std::string emit_ascendc(const Program &p);

}  // namespace halyard::dv
