// Algorithm: a name for what a kernel computes. Records carry it, so that one of a formula that has
// changed since is never used.
#pragma once
#include "dsl/kernel.h"

namespace halyard::tune {

// The definitions that kernel `k`, built with Instance::scheduled = false, computes: stages by
// number in the order in which the outputs reach them, arguments and loops by their places,
// constants by their bits. Names of Funcs and Vars, comments and schedules leave no trace in it;
// what an algorithm makes of its variant, its lanes and its dtypes does.
std::string algorithm_text(const Kernel &k);

// 16 hexadecimal digits of that text. Throws what Kernel throws.
std::string algorithm_of(const std::string &op, Instance i);  // of op_table()
std::string algorithm_of(OpPtr op, Instance i);

}  // namespace halyard::tune
