// The project that `halyard export` writes: a C library of some ops, with its build and its test.
#pragma once
#include <filesystem>
#include <string>

#include "tools/export/selection.h"

namespace halyard::exporting {

struct Written {
    size_t kernels = 0, samples = 0;
    std::string isas;  // "baseline, avx2, avx512"
};

// Throws AttrError unless `name` can name the library, its header and its CMake target; IoError
// unless `folder` is empty or missing.
void check_place(const std::filesystem::path &folder, const std::string &name);

// Compiles the kernels of the selected ops, or takes them from the kernel cache, `jobs` at a time,
// and writes the project. If a kernel fails, nothing is written.
Written write_project(const std::filesystem::path &folder, const std::string &name,
                      const Selection &selection, size_t jobs);

}  // namespace halyard::exporting
