// Devices other than the CPU, through Halide's runtime.
#pragma once
#include "HalideRuntime.h"
#include "registry/op_record.h"

namespace halyard {

// Runs a device kernel on host buffers: inputs are sent, outputs fetched, device memory given back to the runtime's pool.
int call_on_device(KernelFn fn, void **args, halide_buffer_t *buffers, size_t inputs, size_t outputs);

}  // namespace halyard
