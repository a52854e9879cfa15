// The project that `halyard export --for c99` writes: functions in C99, each for one call.
#pragma once
#include <string>
#include <vector>

#include "tools/export/project.h"

namespace halyard::exporting {

// A call to export. An empty text is a default: the op's first dtypes, and its largest sample of at
// most 5,000 elements.
struct FixedOp {
    std::string op, dtypes, shape;
};

struct WrittenCalls {
    std::vector<std::string> functions;  // their prototypes
    int64_t arena_bytes = 0;
};

// Writes the project. Throws Error, with the reason, before anything is written if an op has no
// kernel, or a call can't be stated in C99.
WrittenCalls write_c99_project(const Project &project, const std::vector<FixedOp> &calls);

}  // namespace halyard::exporting
