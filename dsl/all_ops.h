// Functions that add the ops of all op files of this build to a table, for development tools. CMake
// generates their source.
#pragma once

namespace halyard {

class OpTable;
void list_all_ops(OpTable &ops);

// Adds them to op_table(), at the first call in a process.
void list_kit_ops();

}  // namespace halyard
