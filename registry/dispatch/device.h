// Devices other than the CPU, through Halide's runtime.
#pragma once
#include "HalideRuntime.h"
#include "registry/op/op_record.h"

namespace halyard {

struct Operands;

// Runs the kernel of a plan that is for a GPU. Tensors stay there (registry/gpu/resident.h), but
// for those whose addresses the host's code has: they are copied there and back. Throws as
// run_plan().
void call_on_device(const Operands &call);

// Selects the device that kernels run on, counted from 0; HL_GPU_DEVICE in the environment is the
// initial value. Throws DeviceError after kernels have run on another device.
void set_device_id(int id);
int opencl_devices();  // the number of devices; 0 without OpenCL

// Allows calls in f32 to be computed in f16 on Ascend, if Ascend has no program for them in f32:
// its cube unit multiplies f16. Otherwise, as initially, the CPU computes them.
void set_narrows_on_ascend(bool allowed);
bool narrows_on_ascend();

// Releases the driver's resources. To be called before the program ends: drivers with per-thread
// state, such as oclgrind, have lost it when libraries are unloaded.
void release_devices();

}  // namespace halyard
