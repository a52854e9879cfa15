// Composites for the development tools, whose checks and references work on Ops.
#pragma once

namespace halyard {

class OpTable;

// Adds an op for each composite of this build: its record and its reference.
void add_composites(OpTable &ops);

}  // namespace halyard
