#include "registry/simulated.h"

#include <dlfcn.h>

#include "registry/error.h"

namespace halyard {

SimulatedDevice &simulated_device() {
    static SimulatedDevice *const device = [] {
        void *library = dlopen(simulated_device_library, RTLD_NOW | RTLD_LOCAL);
        if (!library) throw DeviceError("ascend", std::string("no library that simulates it: ") + dlerror());
        const auto of = (SimulatedDeviceOf)dlsym(library, simulated_device_symbol);
        if (!of) throw DeviceError("ascend", std::string("no symbol ") + simulated_device_symbol + " in " + simulated_device_library);
        return of();
    }();
    return *device;
}

}  // namespace halyard
