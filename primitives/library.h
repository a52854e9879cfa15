// The registry with all ops of this build.
#pragma once
#include "registry/dispatch/registry.h"

namespace halyard {

// Returns registry(). The first call adds the generated op files (registry/op/op_files.h) to it.
Registry &library();

// Sets the options of the environment (primitives/context.h). library() does so once.
void set_context_from_environment();

}  // namespace halyard
