// Which of a driver's devices is used.
#pragma once
#include <functional>
#include <string>

namespace halyard::gpu {

// Returns the number of the device that set_device_id() or HL_GPU_DEVICE selects of `count`
// devices, counted from 0; without a selection the one with the most units. Throws DeviceError if
// it isn't there. `driver` is for people: "OpenCL".
int selected_device(const std::string &backend, const std::string &driver, int count,
                    const std::function<unsigned(int)> &units);

}  // namespace halyard::gpu
