// A device that is simulated: its programs are made for each call, when the call is planned.
// Ascend's is in a library of its own, with the compiler it needs, which set_device("ascend") opens
// (tools/ascend/device.cpp).
#pragma once
#include <string>
#include <vector>

#include "registry/dispatch/plan.h"

namespace halyard {

class SimulatedDevice {
public:
    virtual ~SimulatedDevice() = default;
    // What stands for its programs of the op in plans: of the variant that is forced, or the
    // scheduled ones.
    virtual const KernelEntry &kernel(const RegisteredOp &op, const std::string &dtypes) = 0;
    // The variants of the op that are written by hand, of a call that it can take; Force names one,
    // as it names a CPU kernel's.
    virtual std::vector<std::string> handwritten(const Plan &p, const std::string &dtypes) = 0;
    // Why it can't take a call, planned but for its kernel; "" where it can.
    virtual std::string refusal(const Plan &p, const std::string &dtypes) = 0;
    // As a kernel is called: buffers of the inputs, scalars, buffers of the outputs. Throws
    // DispatchError.
    virtual void run(const Plan &p, void *const *args) = 0;

    // From now on calls fail whose programs have races: their accesses are timed, which takes
    // longer.
    virtual void look_for_races(bool look) = 0;
    // What could be planted into the programs of a call (ascend/simulator/mutate.h).
    virtual std::vector<std::string> faults(const Plan &p, const std::string &dtypes) = 0;
    // From now on programs are made with this fault, those that have its place; "" for none.
    virtual void plant(const std::string &fault) = 0;
};

// Throws DeviceError where its library isn't there.
SimulatedDevice &simulated_device();

// What that library exports, as a C symbol of this name.
using SimulatedDeviceOf = SimulatedDevice *(*)();
inline constexpr const char *simulated_device_symbol = "halyard_simulated_device",
                            *simulated_device_library = "libhalyard_ascend_device.so";

}  // namespace halyard
