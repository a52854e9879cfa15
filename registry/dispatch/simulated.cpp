#include "registry/dispatch/simulated.h"

#include <dlfcn.h>

#include "registry/base/error.h"

namespace halyard {

SimulatedDevice &simulated_device() {
    static SimulatedDevice *const device = [] {
        // It is in the folder of this library.
        Dl_info here;
        const std::string own = dladdr((void *)&simulated_device, &here) && here.dli_fname
                                    ? here.dli_fname
                                    : "";
        const std::string path = own.substr(0, own.rfind('/') + 1) + simulated_device_library;
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library)
            throw DeviceError("ascend", std::string("no library that simulates it: ") + dlerror());
        const auto of = (SimulatedDeviceOf)dlsym(library, simulated_device_symbol);
        if (!of) {
            throw DeviceError("ascend", std::string("no symbol ") + simulated_device_symbol +
                                            " in " + simulated_device_library);
        }
        return of();
    }();
    return *device;
}

}  // namespace halyard
