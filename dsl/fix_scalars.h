// Scalars of an op as constants, where a program is made for one call.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard {

// Replaces scalars in these Funcs, and in those that they depend on, by their values: loops and
// addresses of a program for one call depend on the integers. Real scalars have type Float(64).
void fix_scalars(const std::vector<Halide::Func> &outputs,
                 const std::map<std::string, int> &integers,
                 const std::map<std::string, double> &reals = {});

}  // namespace halyard
