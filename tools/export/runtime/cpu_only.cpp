// The devices of an exported library: there is only the CPU.
#include "registry/base/error.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/registry.h"
#include "registry/dispatch/simulated.h"

namespace halyard {

const std::string &device() {
    static const std::string &cpu = *new std::string("cpu");
    return cpu;
}

bool narrows_on_ascend() {
    return false;
}

int call_on_device(KernelFn, void **, halide_buffer_t *, size_t, size_t) {
    throw DeviceError("device", "an exported library has kernels for the CPU only");
}

SimulatedDevice &simulated_device() {
    throw DeviceError("ascend", "an exported library has kernels for the CPU only");
}

}  // namespace halyard
