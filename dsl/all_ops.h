// The function that adds the ops of all op files of this build to a table, for development tools.
// CMake generates its source.
#pragma once

namespace halyard {

class OpTable;
void list_all_ops(OpTable &ops);

}  // namespace halyard
