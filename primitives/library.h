// The registry with all ops of this build in it.
#pragma once
#include "registry/dispatch/registry.h"

namespace halyard {

// registry(), after the generated op files (registry/op/op_files.h) were added to it on first use.
Registry &library();

}  // namespace halyard
