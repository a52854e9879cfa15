// Mutants: kernels with one planted fault each (dsl/mutate.h). The share of mutants that checks
// find measures the checks.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/check/mutant.h"

namespace halyard::check {

// Plants faults, as many of each kind as possible, in kernels of the ops' first dtypes or of any,
// and runs the checks that use those kernels on each, in a child process. The same options select
// the same faults. Composite ops have no kernels and no mutants.
std::vector<Mutant> try_mutants(const MutantOptions &o);

// Returns why no check can find a fault, or null if that isn't known. The key is its text() with or
// without the place, with "#*" in place of its number, or with "in *" in place of its call.
const std::string *reason_for(const std::map<std::string, std::string> &survivors, const Mutant &m);

// Reads lines "op/variant kind: place -- why it can't be found"; "#*" at the place's end stands for
// any number, "in *" for any call of a program, and # begins a comment. Throws IoError with a
// malformed line.
std::map<std::string, std::string> read_survivors(const std::string &path);

}  // namespace halyard::check
