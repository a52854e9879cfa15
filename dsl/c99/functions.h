// The functions that C99 sources call: those of C's library, and helpers of their own for what it
// lacks.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::c99 {

// Renames the functions of reals that `outputs` call, before interpret(), to names that stay calls:
// the source has its own function for each, or C's. Halide's own functions floor, ceil and trunc
// keep their names, because it derives bounds of them. In f64 every function stays a call anyway;
// of integers only pow is renamed, whose formula is long.
void name_functions(const std::vector<Halide::Func> &outputs, const Halide::Type &real);

// A function that a source may call.
struct FunctionName {
    std::string name;        // in C
    bool is_helper = false;  // helper_texts() has its definition
};
// Returns the C function for an external call of Halide's, "hy_gelu_f32" or "exp_f64". Its name is
// empty if there is none.
FunctionName function_called(const std::string &halide_name);

// Returns the definitions of these helpers, and of those that they call, in the order of their
// dependencies.
std::string helper_texts(const std::set<std::string> &names);

// Returns true for the name of a function of C's library that sources call.
bool is_library_function(const std::string &name);

}  // namespace halyard::c99
