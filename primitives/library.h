// The registry with all ops of this build.
#pragma once
#include "registry/dispatch/registry.h"

namespace halyard {

// Returns registry(). The first call adds the generated op files (registry/op/op_files.h) to it.
Registry &library();

}  // namespace halyard
