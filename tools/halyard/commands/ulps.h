// halyard check --ulps.
#pragma once
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard::command {

// `inputs`: "all", or how many f32 ones, each half of them negative; of f16 and bf16 it is always
// all. Prints a line per op, dtype and ISA, `isas` or those that it has kernels for; 1 when one of
// them leaves its bound. `jobs` processes at once.
int check_ulps(const std::vector<std::string> &ops, const std::string &inputs,
               const std::vector<Isa> &isas, size_t jobs);

}  // namespace halyard::command
