#include "registry/dispatch/device.h"

#include <array>
#include <atomic>
#include <optional>

#include "registry/base/error.h"
#include "registry/dispatch/kernel_maker.h"
#include "registry/dispatch/plan_generation.h"
#include "registry/dispatch/registry.h"
#include "registry/dispatch/simulated.h"
#include "registry/gpu/devices.h"
#include "registry/gpu/opencl_library.h"

namespace halyard {
namespace {

// The names live as long as the process: device() returns a reference while another thread may
// change the device.
constexpr size_t devices = 4;
const std::string &name_of_device(size_t k) {
    static const auto &names = *new std::array<std::string, devices>{"cpu", "opencl", "cuda",
                                                                     "ascend"};
    return names[k];
}
std::atomic<size_t> current = 0;
std::atomic<bool> narrows = false;

// Throws DeviceError unless there are a driver and kernels.
void require_cuda() {
    if (!kernel_maker("cuda")) {
        throw DeviceError("cuda", "this program makes no CUDA kernels: halyard does, and programs "
                                  "that call make_cuda_kernels()");
    }
    gpu::gpu("cuda");
}

}  // namespace

int opencl_devices() {
    return int(gpu::cl::Library::get().devices().size());
}

void set_device_id(int id) {
    const std::optional<int> open = gpu::open_device();
    if (open && *open != id) {
        throw DeviceError("device", "device_id is " + std::to_string(id) +
                                        ", but kernels have run on device " +
                                        std::to_string(*open) +
                                        " already: it is to be set before the first of them");
    }
    halide_set_gpu_device(id);
}

void set_narrows_on_ascend(bool allowed) {
    if (narrows.exchange(allowed) != allowed) invalidate_plans();
}
bool narrows_on_ascend() {
    return narrows.load(std::memory_order_relaxed);
}

void release_devices() {
    gpu::close_devices();
}

void set_device(const std::string &name) {
    const std::string backend = name.starts_with("ascend") ? "ascend" : name;
    size_t k = 0;
    while (k < devices && name_of_device(k) != backend)
        k++;
    if (k == devices)
        throw DeviceError(name, "no such device, expected cpu, opencl, cuda or ascend");
    if (backend == "opencl") {
        const std::string error = gpu::cl::Library::get().error();
        if (!error.empty()) throw DeviceError("opencl", error);
    } else if (backend == "cuda") {
        require_cuda();
    } else if (backend == "ascend") {
        simulated_device().use_chip(name);
    }
    current = k;
    invalidate_plans();
}

const std::string &device() {
    return name_of_device(current.load(std::memory_order_relaxed));
}

}  // namespace halyard
