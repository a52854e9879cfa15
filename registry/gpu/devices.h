// The GPUs of this process: one for each backend.
#pragma once
#include <optional>
#include <vector>

#include "registry/gpu/device.h"

namespace halyard::gpu {

Device &opencl_device();
Device &cuda_device();

// Returns the number, within its backend, of a device that is open.
std::optional<int> open_device();
// Waits for all work and returns all memory. Devices are opened again when they are next used.
void close_devices();

}  // namespace halyard::gpu
