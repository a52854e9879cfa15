// Runs a subcommand in a child process, because it executes code from outside of the kit.
#pragma once
#include <string>

#include "tools/halyard/command.h"

namespace halyard::command {

// Returns the result of `run` from a child process with the same standard streams. If a signal ends
// it, prints the signal and what was being done (bench/harness/progress.h) to standard error and
// returns 1. Call it before this process has threads.
int in_own_process(const std::string &command, const Run &run);

}  // namespace halyard::command
