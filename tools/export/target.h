// How a project in C99 is built: for this machine, or with a cross compiler.
#pragma once
#include <map>
#include <string>

#include "tools/export/project.h"

namespace halyard::exporting {

// Writes CMakeLists.txt, with `words` filled in, CMakePresets.json and, for another machine,
// toolchain.cmake. `test_bytes` is the memory for constants, static memory and the test's tensors:
// if that fits, ARM32M has the start-up of an emulated board for the test.
void write_build_files(const Project &project, std::map<std::string, std::string> words,
                       int64_t test_bytes);

}  // namespace halyard::exporting
