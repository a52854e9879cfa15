#include "registry/gpu/selection.h"

#include "HalideRuntime.h"
#include "registry/base/error.h"

namespace halyard::gpu {

int selected_device(const std::string &backend, const std::string &driver, int count,
                    const std::function<unsigned(int)> &units) {
    if (count == 0) throw DeviceError(backend, driver + " has no device here");
    const int selected = halide_get_gpu_device(nullptr);
    if (selected >= count || selected < -1) {
        throw DeviceError(backend, "device_id is " + std::to_string(selected) + ", expected 0 to " +
                                       std::to_string(count - 1) + ": " + driver + " has " +
                                       std::to_string(count) + " here");
    }
    if (selected >= 0) return selected;
    int best = 0;
    for (int k = 1; k < count; k++)
        if (units(k) >= units(best)) best = k;
    return best;
}

}  // namespace halyard::gpu
