// Pooling and its gradients on the vector unit: programs of their own, beside those that lowering
// makes of loops.
//
// Feature maps are NCHW in global memory. On the chip 16 planes lie side by side, [pixel][16], so
// that an instruction takes a line of windows of all of them, and a stride is one between blocks.
// Comparisons go by whole tiles: one tap of all windows. f16 gets there and back by transposing
// squares, f32 element by element (W-SCALAR).
#pragma once

namespace halyard {
class Op;
struct Ascend;
}  // namespace halyard

namespace halyard::ascend {

enum class Pooled { max, max_dx, mean, mean_dx };

// Gives `op`, an op of kernels/pooling/pool.h, such a program in place of loops. False where there
// is none: for tensors that aren't dense, lines of more pixels than there is room for, and windows
// of more than 64 pixels, or of which more than 9 have a pixel in common.
bool pool(const Ascend &npu, const Op &op, Pooled p);

}  // namespace halyard::ascend
