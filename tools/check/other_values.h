// Samples with other values.
#pragma once
#include "bench/harness/case.h"

namespace halyard::check {

// Returns the number of elements of all inputs.
int64_t input_elements(const Case &c);

// Returns the sample with other values, half of which are breakpoints if `bends`, solved. A program
// that is made for a call doesn't depend on values, so it is the same one.
Case with_values(const Op &op, const Case &c, bool bends, int seed);

// Returns the sample with other values, solved, `count` of which are infinite, 0 or, with `nan`,
// NaN in each float input.
Case with_specials(const Op &op, const Case &c, int count, bool nan, int seed);

// Returns the sample with values of magnitudes from 2^-20 to 2^8, solved. Inputs with a lower bound
// keep their own.
Case with_magnitudes(const Op &op, const Case &c, int seed);

// Returns the samples that differ from this one in real attributes, as the op's other samples do. A
// program takes those as numbers, so it is the same one.
std::vector<std::string> with_other_reals(const Op &op, const std::string &sample);

}  // namespace halyard::check
