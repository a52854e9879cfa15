// Halide's PTX leaves two things open that our results depend on, and changes a third.
//
// - ptxas may fuse mul.f32 with add.f32 into one rounding. LLVM has fused what may be fused, so
// what
//   it left apart is to stay apart: with .rn it does.
// - cvt.rmi.ftz.f32.f32, Halide's floor, sees 0 for a subnormal: floor(-1e-40) would be -0, not -1.
//   Without .ftz subnormals are kept, as everywhere else.
// - ptxas plans registers for 1,024 threads, unless .maxntid says how many a block has.
#pragma once
#include <array>
#include <map>
#include <string>

#include "Halide.h"

namespace halyard::gpu {

// The threads of a block in x, y and z, by the name of the kernel.
using BlockShapes = std::map<std::string, std::array<int, 3>>;

// Returns the text with an explicit rounding in each sum, difference and product of f32 and f64,
// without .ftz, and with .maxntid at the kernels of `blocks`.
std::string exact_ptx(const std::string &ptx, const BlockShapes &blocks);

// Returns the module with its PTX so rewritten. Kernels whose blocks have a fixed shape get
// .maxntid.
Halide::Module with_exact_ptx(const Halide::Module &module);

// Returns a module's PTX, without the NUL at its end.
std::string ptx_of(const Halide::Module &module);

}  // namespace halyard::gpu
