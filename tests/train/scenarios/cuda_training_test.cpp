// Trains with CUDA kernels on the PTX machine, which needs no GPU: they are compiled when a call
// wants them.
#include <gtest/gtest.h>

#include "primitives/context.h"
#include "tests/registry/expect_error.h"
#include "tests/train/cuda_model.h"
#include "tests/train/lenet5_on_gpu.h"

namespace halyard {
namespace {

TEST(CudaTraining, NeedsAMakerOfKernels) {
    expect_error<DeviceError>(
        "[cuda] this program makes no CUDA kernels: halyard does, and programs "
        "that call make_cuda_kernels()",
        [] { set_device("cuda"); });
}

TEST(CudaTraining, LeNet5StaysOnTheGpu) {
    testing_inputs::use_cuda_model();
    set_context({.mode = PYNATIVE_MODE});
    testing_inputs::expect_to_stay_on("cuda", 3);
}

}  // namespace
}  // namespace halyard
