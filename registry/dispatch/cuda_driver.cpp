#include "registry/dispatch/cuda_driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "registry/base/error.h"

namespace halyard {
namespace {

// The library stays open: kernels keep pointers into it.
struct Driver {
    std::mutex mutex;
    std::string name;
    void *library = nullptr;
    bool tried = false;
};

Driver &driver() {
    static Driver &one = *new Driver;
    return one;
}

std::string beside_this_library(const std::string &name) {
    Dl_info here;
    const bool known = dladdr(reinterpret_cast<void *>(&cuda_symbol), &here) && here.dli_fname;
    const std::string own = known ? here.dli_fname : "";
    return own.substr(0, own.rfind('/') + 1) + name;
}

bool open(Driver &d, const std::string &name) {
    d.library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    // The model driver is installed there.
    if (!d.library && name.find('/') == std::string::npos)
        d.library = dlopen(beside_this_library(name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (d.library) d.name = name;
    return d.library != nullptr;
}

const char *named_by_environment() {
    const char *name = std::getenv("HALYARD_CUDA_DRIVER");
    return name && *name ? name : nullptr;
}

}  // namespace

void use_model_cuda_driver() {
    Driver &d = driver();
    const std::lock_guard lock(d.mutex);
    const char *named = named_by_environment();
    const std::string wanted = named ? named : "libhalyard_cuda_model.so";
    if (d.library && d.name == wanted) return;
    if (d.library) throw DeviceError("cuda", "the driver is " + d.name + " already, not " + wanted);
    d.tried = true;
    if (!open(d, wanted)) {
        const char *why = dlerror();
        throw DeviceError("cuda", std::string("no driver: ") + (why ? why : "it can't be opened"));
    }
}

void *cuda_symbol(const char *name) {
    Driver &d = driver();
    const std::lock_guard lock(d.mutex);
    if (!d.tried) {
        d.tried = true;
        if (const char *named = named_by_environment())
            open(d, named);
        else if (!open(d, "libcuda.so.1"))
            open(d, "libcuda.so");
    }
    return d.library ? dlsym(d.library, name) : nullptr;
}

}  // namespace halyard
