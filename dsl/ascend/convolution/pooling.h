// Programs of pooling and its gradients for the vector unit. They are emitted directly, not by
// lowering loops.
//
// Feature maps are NCHW in global memory. On the chip 16 planes are interleaved, [pixel][16], so
// that an instruction processes a line of windows of all of them, and a stride is a stride of
// blocks. Comparisons process whole tiles: one tap of all windows. f16 is interleaved by
// transposing squares, f32 element by element (W-SCALAR).
#pragma once

namespace halyard {
class Op;
struct Ascend;
}  // namespace halyard

namespace halyard::ascend {

enum class Pooled { max, max_dx, mean, mean_dx };

// Sets the program of `op`, an op of kernels/pooling/pool.h, in place of loops. Returns false if
// there is none: for tensors that aren't dense, lines that don't fit the Unified Buffer, windows of
// more than 64 pixels or with dilation, and pixels that belong to more than 9 windows.
bool pool(const Ascend &npu, const Op &op, Pooled p);

}  // namespace halyard::ascend
