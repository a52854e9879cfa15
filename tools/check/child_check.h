// Runs checks in a child process: a crash ends only the check in which it happens, and is reported
// with what the check was doing.
#pragma once
#include "tools/check/check.h"

namespace halyard::check {

// Runs the checks of one op, one after the other. A check that ends its process is a failure that
// names the signal, the check, the kernel and the sample; another process continues with the next
// check. Call it while this process has no other threads.
Report check_in_child(const std::string &op, const NamedChecks &checks, const Options &o);

}  // namespace halyard::check
