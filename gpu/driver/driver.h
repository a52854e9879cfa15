// What the model driver offers beside CUDA's interface. Both are C functions of
// libhalyard_cuda_model.so, found with dlsym().
#pragma once

extern "C" {

// Returns what was found since the last call, one finding a line, and what the driver could not do;
// "" if there is nothing. The text lives until the next call.
const char *halyard_cuda_model_findings();

// Returns what launches did since the last call: lines of a name and a number, then
// "OPCODE warps lanes" for each opcode. The text lives until the next call.
const char *halyard_cuda_model_counts();

}  // extern "C"
