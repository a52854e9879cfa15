// Runs a test's ops with CUDA kernels on the PTX machine, which needs no GPU.
#pragma once
#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "registry/dispatch/cuda_driver.h"
#include "registry/dispatch/registry.h"
#include "tools/gpu/cuda_kernels.h"

namespace halyard::testing_inputs {

inline void use_cuda_model() {
    list_kit_ops();
    make_cuda_kernels();
    use_model_cuda_driver();
    set_device("cuda");
}

}  // namespace halyard::testing_inputs
