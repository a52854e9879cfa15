// KernelLibrary: the ops of another project as a shared library, opened at run time.
// cmake/HalyardOp.cmake writes the one symbol.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard {

class OpTable;

// Raise it with every change that such a library could trip over: OpRecord, KernelEntry, KernelFn,
// Op, Tensor.
inline constexpr int32_t kernel_abi = 3;

struct KernelLibrary {
    // These keep their places in every version.
    int32_t abi = kernel_abi;
    // should someone forget to raise kernel_abi
    int32_t record_bytes = sizeof(OpRecord) + sizeof(KernelEntry) + sizeof(OpFile);
    // the version it was built with
    const char *kit = "";

    std::vector<const OpFile *> (*files)() = nullptr;
    void (*list)(OpTable &ops) = nullptr;  // the ops' build-time code, for checks and the JIT
};

// What the library exports, as a C symbol of this name.
using KernelLibraryOf = const KernelLibrary *(*)();
inline constexpr const char *kernel_library_symbol = "halyard_kernels";

// Opens it, for the rest of the program. Throws IoError when it isn't there, isn't a kernel
// library, or doesn't fit this kit.
const KernelLibrary &open_kernel_library(const std::string &path);

}  // namespace halyard
