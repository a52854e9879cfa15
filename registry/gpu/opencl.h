// A GPU on an OpenCL driver, 1.2 or later.
#pragma once
#include <memory>

#include "registry/gpu/driver.h"

namespace halyard::gpu {

// Makes a context on the selected device. Throws DeviceError if there is none.
std::unique_ptr<Driver> open_opencl();

}  // namespace halyard::gpu
