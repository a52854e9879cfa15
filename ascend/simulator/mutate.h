// Faults that authors make, and lowerings, planted into a program one at a time: the share that the
// checks find is what they are worth.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ascend/program/ir.h"

namespace halyard::dv {

const std::vector<std::pair<std::string, std::string>> &fault_kinds();  // name, what it is

// What could be planted into a program that has its flags, each as "kind: place". Equal places are
// counted: "wrong-offset: vec_add #3". What could show nowhere is left out: a bank of a buffer that
// has one slot, the second of two repeats where there is one.
std::vector<std::string> faults_of(const Program &p);

// The program with this fault; false where it has no such place.
bool plant(Program &p, const std::string &fault);

}  // namespace halyard::dv
