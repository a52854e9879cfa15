// Timeline: when each stage of a kernel was produced, in one call of a kernel that reports it
// (Instance::traced).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "primitives/trace_file.h"

namespace halyard::command {

// Traces the quickest of a few calls, with stages named as in the op's file. Slices of one thread
// are nested or disjoint, because Halide produces stages within each other. Throws DispatchError
// for `op` if the call has no slices or too many.
std::vector<Slice> timeline_of(const std::string &op, const std::function<void()> &call);

}  // namespace halyard::command
