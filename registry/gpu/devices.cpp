#include "registry/gpu/devices.h"

#include <cstdlib>

#include "HalideRuntimeCuda.h"
#include "HalideRuntimeOpenCL.h"
#include "registry/base/error.h"
#include "registry/gpu/cuda.h"
#include "registry/gpu/opencl.h"

namespace halyard::gpu {
namespace {

// Drivers are unloaded when the process exits, and must have nothing to do then. Called when a
// driver is open, so that devices are closed before what the driver itself does at the exit.
void close_devices_at_exit() {
    static const bool once = std::atexit(close_devices) == 0;
    (void)once;
}

template<std::unique_ptr<Driver> (*open)()> std::unique_ptr<Driver> open_until_exit() {
    std::unique_ptr<Driver> driver = open();
    close_devices_at_exit();
    return driver;
}

}  // namespace

Device &opencl_device() {
    static Device &device = *new Device("opencl", open_until_exit<open_opencl>,
                                        halide_opencl_device_interface);
    return device;
}

Device &cuda_device() {
    static Device &device = *new Device("cuda", open_until_exit<open_cuda>,
                                        halide_cuda_device_interface);
    return device;
}

std::optional<int> open_device() {
    const std::optional<int> opencl = opencl_device().index();
    return opencl ? opencl : cuda_device().index();
}

void close_devices() {
    opencl_device().close();
    cuda_device().close();
}

Gpu &gpu(const std::string &backend) {
    if (backend != "opencl" && backend != "cuda") {
        throw DeviceError(backend,
                          "the backend '" + backend + "' has no GPU, expected opencl or cuda");
    }
    Device &device = backend == "cuda" ? cuda_device() : opencl_device();
    device.open();
    return device;
}

}  // namespace halyard::gpu
