// Special values, on any of the places where an op has kernels.
#pragma once
#include <string>
#include <vector>

#include "tools/check/check.h"

namespace halyard::check {

// Kernels that a check runs: those of a level of the CPU, or of a device.
struct KernelPlace {
    std::string name;  // "avx2", "cuda"
    Isa isa;
    std::string backend;
};

// Returns true for an elementwise op whose results are the reference's bit for bit.
bool is_exact(const Op &op);

// As check_specials(), in these places and dtypes. Checks nothing unless the first dtype is a
// float.
void check_specials_at(const std::vector<KernelPlace> &places, const Op &op,
                       const std::string &dtypes, Report &r);

}  // namespace halyard::check
