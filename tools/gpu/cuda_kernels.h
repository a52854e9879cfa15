// CUDA kernels that are compiled when a call first wants them: a build contains none.
#pragma once

namespace halyard {

// Makes kernels of the ops in op_table() for calls on the device "cuda", from now on.
void make_cuda_kernels();

}  // namespace halyard
