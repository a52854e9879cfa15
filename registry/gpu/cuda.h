// A GPU on CUDA's driver, or on the model driver (registry/dispatch/cuda_driver.h).
#pragma once
#include <memory>

#include "registry/gpu/driver.h"

namespace halyard::gpu {

// Makes a context on the selected device. Throws DeviceError if there is none.
std::unique_ptr<Driver> open_cuda();

}  // namespace halyard::gpu
