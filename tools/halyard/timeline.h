// Timeline: when each stage of a kernel was produced, in one call of a kernel that reports it
// (Instance::traced).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "primitives/trace_file.h"

namespace halyard::command {

// One call, the quickest of a few: stages as the op's file calls them. Slices of one thread are
// nested or apart: Halide produces stages within each other. Throws DispatchError for `op` where
// the call has no slices or too many to look at.
std::vector<Slice> timeline_of(const std::string &op, const std::function<void()> &call);

}  // namespace halyard::command
