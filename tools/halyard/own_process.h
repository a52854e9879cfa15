// A process of its own for a subcommand that runs the code of others.
#pragma once
#include <string>

#include "tools/halyard/command.h"

namespace halyard::command {

// What `run` gives, from a child process with the same standard streams. Where a signal ends it, a
// line on standard error says which, and what was being done (bench/harness/progress.h); then it
// gives 1. Call it before this process has threads.
int in_own_process(const std::string &command, const Run &run);

}  // namespace halyard::command
