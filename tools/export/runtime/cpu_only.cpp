// The devices of an exported library: there is only the CPU.
#include "registry/base/error.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/kernel_maker.h"
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

void call_on_device(const Operands &) {
    throw DeviceError("device", "an exported library has kernels for the CPU only");
}

KernelMaker *kernel_maker(const std::string &) {
    return nullptr;
}

SimulatedDevice &simulated_device() {
    throw DeviceError("ascend", "an exported library has kernels for the CPU only");
}

}  // namespace halyard
