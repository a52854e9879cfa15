// Algorithm: a name for what a kernel computes. Records have it, so that a record of a formula that
// has changed since is never used.
#pragma once
#include "dsl/kernel.h"

namespace halyard::tune {

// Returns the definitions that kernel `k`, built with Instance::scheduled = false, computes. Stages
// are numbered in the order in which the outputs reach them, arguments and loops by position;
// constants are printed as bits. The text is independent of names of Funcs and Vars, of comments
// and of schedules. It depends on the variant, the lanes and the dtypes as far as the algorithm
// does.
std::string algorithm_text(const Kernel &k);

// Returns 16 hexadecimal digits of a hash of that text. Throws what Kernel throws.
std::string algorithm_of(const std::string &op, Instance i);  // of op_table()
std::string algorithm_of(OpPtr op, Instance i);

}  // namespace halyard::tune
