// The op files that this program was built with. CMake generates the list; nothing is registered at
// start-up.
#pragma once
#include <vector>

#include "registry/op/op_record.h"

namespace halyard {

std::vector<const OpFile *> op_files();

}  // namespace halyard
