// The interface of a simulated device, whose programs are made for each call when the call is
// planned. Ascend's stands in a library of its own, with the compiler it needs, which
// set_device("ascend") opens (tools/ascend/device.cpp).
#pragma once
#include <string>
#include <vector>

#include "registry/dispatch/plan.h"

namespace halyard {

class SimulatedDevice {
public:
    virtual ~SimulatedDevice() = default;
    // Selects the chip that calls are planned for from now on, a profile of ascend/profiles;
    // "ascend" is the first of them, ascend910. Throws DeviceError for another name.
    virtual void use_chip(const std::string &name) = 0;
    virtual std::string chip() = 0;
    // Returns the entry that stands in plans for the op's programs: those of the forced variant, or
    // the scheduled ones.
    virtual const KernelEntry &kernel(const RegisteredOp &op, const std::string &dtypes) = 0;
    // Returns the handwritten variants of the op that can take the call. Force selects one by its
    // name, as it does a CPU kernel's variant.
    virtual std::vector<std::string> handwritten(const Plan &p, const std::string &dtypes) = 0;
    // Returns why the device can't take a call that is planned except for its kernel; empty if it
    // can.
    virtual std::string rejection(const Plan &p, const std::string &dtypes) = 0;
    // Runs the call. `args` are a kernel's: buffers of the inputs, scalars, buffers of the outputs.
    // Throws DispatchError.
    virtual void run(const Plan &p, void *const *args) = 0;

    // With `look`, calls whose programs have races fail from now on. Accesses are then timed, which
    // makes runs slower.
    virtual void look_for_races(bool look) = 0;
    // Returns the faults that can be planted into the programs of a call
    // (ascend/simulator/mutate.h).
    virtual std::vector<std::string> faults(const Plan &p, const std::string &dtypes) = 0;
    // Makes programs with this fault from now on, where they have its place; "" for none.
    virtual void plant(const std::string &fault) = 0;
};

// Returns the device; opens its library at the first call. Throws DeviceError if there is none.
SimulatedDevice &simulated_device();

// The C symbol that the library exports.
using SimulatedDeviceOf = SimulatedDevice *(*)();
inline constexpr const char *simulated_device_symbol = "halyard_simulated_device";
inline constexpr const char *simulated_device_library = "libhalyard_ascend_device.so";

}  // namespace halyard
