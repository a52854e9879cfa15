// Emits programs in the languages of the vendor's tools. The vendor's compilers have not been
// available: emitted code is tested under our own shims. Throws AttrError "E-EMIT: ..." for what a
// language can't express.
#pragma once
#include "ascend/program/ir.h"

namespace halyard::dv {

// `kernel` defines haly_NAME(tensors.., kernel_name) and builds it. `registration` is its TBERegOp
// file for MindSpore, `ini` its file for other frameworks.
struct PythonFiles {
    std::string kernel, registration, ini;
};
// Emits TIK, which inserts flags and places buffers itself: those of the program are left out.
// Slots that the iterations of a loop alternate become its thread_num. The cube's instructions have
// TIK's low-level names: load2dv1, load3dv1, mmad and tensor_mov. Row maxima without indices are
// two maxima by blocks.
PythonFiles emit_tik(const Program &p);

// Emits one Ascend C translation unit with the kernel haly_NAME(GM_ADDR.., scalars), which has the
// program's addresses and flags.
std::string emit_ascendc(const Program &p);

}  // namespace halyard::dv
