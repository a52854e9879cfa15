#include "registry/dispatch/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "registry/base/error.h"
#include "registry/dispatch/plan_generation.h"
#include "registry/dispatch/registry.h"
#include "registry/dispatch/simulated.h"

namespace halyard {
namespace {

// The names live as long as the process: device() returns a reference while another thread may
// change the device.
const std::string &name_of_device(size_t k) {
    static const auto &names = *new std::array<std::string, 3>{"cpu", "opencl", "ascend"};
    return names[k];
}
std::atomic<size_t> current = 0;
std::atomic<int> chosen_id = -1;
std::atomic<bool> narrows = false;

std::atomic<const halide_device_interface_t *> used = nullptr;  // by the last call

}  // namespace

int call_on_device(KernelFn fn, void **args, halide_buffer_t *buffers, size_t inputs,
                   size_t outputs) {
    for (size_t k = 0; k < inputs; k++)
        buffers[k].set_host_dirty(true);
    int status = fn(args);
    if (inputs + outputs > 0) used = buffers[0].device_interface;
    for (size_t k = inputs; k < inputs + outputs && status == 0; k++)
        status = halide_copy_to_host(nullptr, &buffers[k]);
    for (size_t k = 0; k < inputs + outputs; k++) {
        const int freed = halide_device_free(nullptr, &buffers[k]);
        if (status == 0) status = freed;
    }
    return status;
}

namespace {

// Counts devices as Halide's runtime does. Two environment variables select the platform and the
// types of device; by default the first platform and all types are used.
class OpenCl {
public:
    OpenCl() : library_(dlopen("libOpenCL.so.1", RTLD_LAZY)) {
        if (!library_) {
            const char *why = dlerror();
            error_ = std::string("no OpenCL library: ") + (why ? why : "it can't be opened");
            return;
        }
        platforms_of_ = (PlatformsOf)dlsym(library_, "clGetPlatformIDs");
        name_of_ = (NameOf)dlsym(library_, "clGetPlatformInfo");
        devices_of_ = (DevicesOf)dlsym(library_, "clGetDeviceIDs");
        if (!platforms_of_ || !name_of_ || !devices_of_ || platforms().empty())
            error_ = "no OpenCL platform answers";
        else if (ends_the_process())
            error_ = "PoCL can't run where /sys doesn't describe the processor's topology";
    }
    const std::string &error() const { return error_; }

    int devices() const {
        if (!error_.empty()) return 0;
        void *platform = chosen_platform();
        unsigned count = 0;
        return platform && devices_of_(platform, wanted_types(), 0, nullptr, &count) == 0
                   ? int(count)
                   : 0;
    }

private:
    using PlatformsOf = int (*)(unsigned, void **, unsigned *);
    using NameOf = int (*)(void *, unsigned, size_t, void *, size_t *);
    using DevicesOf = int (*)(void *, uint64_t, unsigned, void **, unsigned *);

    std::vector<void *> platforms() const {
        unsigned count = 0;
        if (platforms_of_(0, nullptr, &count) != 0) return {};
        std::vector<void *> all(count);
        if (count > 0 && platforms_of_(count, all.data(), nullptr) != 0) return {};
        return all;
    }
    void *chosen_platform() const {
        const char *wanted = std::getenv("HL_OCL_PLATFORM_NAME");
        for (void *platform : platforms()) {
            if (!wanted || !*wanted || name_of(platform).find(wanted) != std::string::npos)
                return platform;
        }
        return nullptr;
    }
    // PoCL's CPU device aborts the process in a container or chroot without /sys.
    bool ends_the_process() const {
        void *platform = chosen_platform();
        if (!platform || name_of(platform) != "Portable Computing Language") return false;
        std::error_code none;
        for (const char *cpu :
             {"/sys/bus/cpu/devices/cpu0/topology", "/sys/devices/system/cpu/cpu0/topology"})
            if (std::filesystem::is_directory(cpu, none)) return false;
        return true;
    }
    std::string name_of(void *platform) const {
        constexpr unsigned platform_name = 0x0902;  // CL_PLATFORM_NAME
        char text[256] = {};
        return name_of_(platform, platform_name, sizeof text - 1, text, nullptr) == 0 ? text : "";
    }
    static uint64_t wanted_types() {
        constexpr uint64_t cpu = 2, gpu = 4, all = 0xFFFFFFFF;  // CL_DEVICE_TYPE_CPU, _GPU, _ALL
        const char *types = std::getenv("HL_OCL_DEVICE_TYPE");
        const std::string text = types ? types : "";
        const uint64_t wanted = (text.find("cpu") != std::string::npos ? cpu : 0) |
                                (text.find("gpu") != std::string::npos ? gpu : 0);
        return wanted ? wanted : all;
    }

    void *library_;
    std::string error_;
    PlatformsOf platforms_of_ = nullptr;
    NameOf name_of_ = nullptr;
    DevicesOf devices_of_ = nullptr;
};

}  // namespace

int opencl_devices() {
    return OpenCl().devices();
}

void set_device_id(int id) {
    const int before = chosen_id.exchange(id);
    if (before == id) return;
    const bool is_the_only_one = before < 0 && id == 0 && opencl_devices() == 1;
    if (used.load() && !is_the_only_one) {
        chosen_id = before;
        throw DeviceError("device", "device_id is " + std::to_string(id) +
                                        ", but kernels have run on device " +
                                        std::to_string(std::max(before, 0)) +
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
    if (const halide_device_interface_t *device = used.exchange(nullptr))
        halide_device_release(nullptr, device);
}

void set_device(const std::string &name) {
    const std::string backend = name.starts_with("ascend") ? "ascend" : name;
    size_t k = 0;
    while (k < 3 && name_of_device(k) != backend)
        k++;
    if (k == 3) throw DeviceError(name, "no such device, expected cpu, opencl or ascend");
    if (backend == "opencl") {
        if (const OpenCl opencl; !opencl.error().empty())
            throw DeviceError("opencl", opencl.error());
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
