// CUDA kernels that are compiled when a call first wants them: a build contains none.
#pragma once

namespace halyard {

// Makes kernels of the kit's ops, and of those in op_table(), for calls on the device "cuda", from
// now on. The first call lists the kit's ops there, if the program hasn't.
void make_cuda_kernels();

}  // namespace halyard
