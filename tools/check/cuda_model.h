// The CUDA driver on which checks run: the PTX machine behind CUDA's interface
// (gpu/machine/machine.h), below the device run time.
#pragma once
#include <string>
#include <vector>

namespace halyard::check {

// Opens the model, or the driver that HALYARD_CUDA_DRIVER names. Throws DeviceError if it can't be
// opened.
void open_cuda_model();

// Returns the lines of what the machine found since the last call; opens it first. A real driver
// finds nothing.
std::vector<std::string> cuda_findings();

// Returns the bytes that loads and stores of global memory moved since the last call, in whole
// sectors; opens the driver first. A real driver counts none.
double cuda_bytes_moved();

}  // namespace halyard::check
