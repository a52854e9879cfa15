// halyard check --mutants.
#pragma once
#include <string>
#include <vector>

#include "registry/op_record.h"

namespace halyard::command {

struct MutantArguments {
    int per_op = 0, at_once = 2;
    unsigned seed = 1;
    std::vector<std::string> only;
    std::string json;
};
// Prints the survivors and a table of what was caught by which check. 1 when there is a survivor that isn't in survivors.txt.
int check_mutants(const std::vector<std::string> &ops, const MutantArguments &a, Isa isa);

}  // namespace halyard::command
