// Mutants of programs: faults that authors and lowerings make, planted into a program one at a
// time. The share of them that the checks find measures the checks.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ascend/program/ir.h"

namespace halyard::dv {

const std::vector<std::pair<std::string, std::string>> &fault_kinds();  // name and description

// Returns the faults that can be planted into a program with flags, each as "kind: place". Equal
// ones are numbered: "wrong-offset: vec_add #3". Faults without effect are left out, for example
// another slot of a buffer that has only one.
std::vector<std::string> faults_of(const Program &p);

// Plants a fault. Returns false if the program has no such place.
bool plant(Program &p, const std::string &fault);

}  // namespace halyard::dv
