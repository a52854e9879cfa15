// halyard check --mutants.
#pragma once
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard::command {

struct MutantArguments {
    int per_op = 0, in_all = 0, at_once = 2;
    bool until_caught = false, programs = false, cuda = false;
    bool any() const { return per_op || in_all || !only.empty(); }
    unsigned seed = 1;
    std::vector<std::string> only;
    std::string json;
    std::string repro_options;  // " --isa avx2": what the command that repeats a fault needs
};
// Plants faults in kernels of any dtypes and instruction set or, if `isas` has one, in those of the
// ops' first dtypes on it. Prints the survivors and a table of faults by check. Returns 1 if a
// survivor isn't in survivors.txt.
int check_mutants(const std::vector<std::string> &ops, const MutantArguments &a,
                  const std::vector<Isa> &isas);

}  // namespace halyard::command
