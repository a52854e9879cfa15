// The CUDA driver, which is opened at run time: HALYARD_CUDA_DRIVER names the library, by default
// libcuda.so.1 or libcuda.so.
#pragma once
#include <string>

namespace halyard {

// Opens the model driver (gpu/driver/driver.h), which needs no GPU, unless HALYARD_CUDA_DRIVER
// names another one. Throws DeviceError if it can't be opened, or if another driver is open
// already.
void use_model_cuda_driver();

// Returns a function of the driver, which is opened first; null if there is none.
void *cuda_symbol(const char *name);

}  // namespace halyard
