// How large the code of an exported project is.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tools/export/project.h"

namespace halyard::exporting {

struct CodeSize {
    int64_t bytes = 0;    // of text, without the constants
    std::string command;  // "arm-none-eabi-gcc -Os -mcpu=cortex-m4 -mthumb"
};

// Compiles the source of a project in C99, which has been written, for its target. Returns none if
// this machine has no compiler for that.
std::optional<CodeSize> code_size(const Project &project, int64_t constant_bytes);

}  // namespace halyard::exporting
