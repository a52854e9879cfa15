// Checks in a process of their own: a crash costs the check that it happens in, and is told with
// what was being done.
#pragma once
#include "tools/check/check.h"

namespace halyard::check {

// The checks of one op, one after the other. Where one of them kills its process, that is a failure
// with the signal, the check, the kernel and the sample, and another process goes on with the next
// check. Call it while this process has no other threads.
Report check_apart(const std::string &op, const NamedChecks &checks, const Options &o);

}  // namespace halyard::check
