// A kernel that is fixed to one call, as a function in C99.
#pragma once
#include <map>
#include <set>
#include <string>

#include "dsl/kernel.h"

namespace halyard::c99 {

// The parts of a function of C but for its name.
struct Function {
    std::string parameters;         // "(const float *x, float *y)"
    std::string body;               // " {\n...}\n"
    int64_t arena_bytes = 0;        // of static memory that it needs, and its caller's
    std::set<std::string> helpers;  // that it calls (dsl/c99/functions.h)
};

// Returns the function of a kernel for backend "c99". Its parameters are the op's inputs, then its
// outputs, with the signature's names. `reals` are the values of the record's real scalars, by
// name. The first `arena_begin` bytes of the arena are its caller's. Throws Error, with the reason,
// if the kernel can't be stated in C99.
Function function_of(Kernel &kernel, const std::string &name,
                     const std::map<std::string, double> &reals, int64_t arena_begin = 0);

}  // namespace halyard::c99
