// halyard check --ulps.
#pragma once
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard::command {

// Checks the ops' errors on `inputs`: "all", or a number of f32 inputs, half of them negative; f16
// and bf16 always take all. Runs `jobs` processes at once. Prints a line for each op, dtype and ISA
// of `isas`, or of those it has kernels for. Returns 1 if one exceeds its bound.
int check_ulps(const std::vector<std::string> &ops, const std::string &inputs,
               const std::vector<Isa> &isas, size_t jobs);

}  // namespace halyard::command
