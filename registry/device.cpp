#include "registry/device.h"

#include <dlfcn.h>

#include <atomic>

#include "registry/dispatch.h"
#include "registry/error.h"
#include "registry/registry.h"
#include "registry/simulated.h"

namespace halyard {
namespace {

std::string &current() {
    static std::string name = "cpu";
    return name;
}

std::atomic<const halide_device_interface_t *> used = nullptr;  // by the last call

}  // namespace

int call_on_device(KernelFn fn, void **args, halide_buffer_t *buffers, size_t inputs, size_t outputs) {
    for (size_t k = 0; k < inputs; k++) buffers[k].set_host_dirty(true);
    int status = fn(args);
    if (inputs + outputs > 0) used = buffers[0].device_interface;
    for (size_t k = inputs; k < inputs + outputs && status == 0; k++) status = halide_copy_to_host(nullptr, &buffers[k]);
    for (size_t k = 0; k < inputs + outputs; k++) {
        const int freed = halide_device_free(nullptr, &buffers[k]);
        if (status == 0) status = freed;
    }
    return status;
}

void set_device_id(int id) { halide_set_gpu_device(id); }

void release_devices() {
    if (const halide_device_interface_t *device = used.exchange(nullptr)) halide_device_release(nullptr, device);
}

void set_device(const std::string &backend) {
    if (backend == "opencl") {
        void *library = dlopen("libOpenCL.so.1", RTLD_LAZY);
        if (!library) throw DeviceError("opencl", std::string("no OpenCL library: ") + dlerror());
        using GetPlatforms = int (*)(unsigned, void *, unsigned *);
        const auto get = (GetPlatforms)dlsym(library, "clGetPlatformIDs");
        unsigned platforms = 0;
        if (!get || get(0, nullptr, &platforms) != 0 || platforms == 0) throw DeviceError("opencl", "no OpenCL platform answers");
    } else if (backend == "ascend") {
        simulated_device();
    } else if (backend != "cpu") {
        throw DeviceError(backend, "no such device, expected cpu, opencl or ascend");
    }
    current() = backend;
    invalidate_plans();
}
const std::string &device() { return current(); }

}  // namespace halyard
