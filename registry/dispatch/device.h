// Devices other than the CPU, through Halide's runtime.
#pragma once
#include "HalideRuntime.h"
#include "registry/op/op_record.h"

namespace halyard {

// Runs a device kernel on host buffers: inputs are sent, outputs fetched, device memory given back
// to the runtime's pool.
int call_on_device(KernelFn fn, void **args, halide_buffer_t *buffers, size_t inputs,
                   size_t outputs);

// Of several devices the one that kernels run on, counted from 0; HL_GPU_DEVICE in the environment
// chooses the first one. Throws DeviceError where kernels have run on another one already: the
// driver's state is that one's.
void set_device_id(int id);
int opencl_devices();  // how many there are to choose from; 0 without OpenCL

// May calls of f32 that Ascend has no program for, its cube unit multiplying f16, be computed in
// f16 there? At first not: the CPU computes them.
void set_narrows_on_ascend(bool allowed);
bool narrows_on_ascend();

// Gives back what device kernels left with the driver. To be called before the program ends:
// drivers that keep state of their own per thread, oclgrind for one, have lost it by the time that
// libraries clean up.
void release_devices();

}  // namespace halyard
