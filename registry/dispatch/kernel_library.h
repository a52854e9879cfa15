// KernelLibrary: the ops of another project as a shared library that is opened at run time.
// cmake/HalyardOp.cmake generates its one symbol.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard {

class OpTable;

// To be raised with every change of the types that such a library uses: OpRecord, KernelEntry,
// KernelFn, Op, Tensor.
inline constexpr int32_t kernel_abi = 5;

struct KernelLibrary {
    // abi, record_bytes and kit keep their types and offsets in every version: they are read before
    // it is known whether the rest of the library fits.
    int32_t abi = kernel_abi;
    // A second check, in case kernel_abi was not raised.
    int32_t record_bytes = sizeof(OpRecord) + sizeof(KernelEntry) + sizeof(OpFile);
    // The version of the kit that the library was built with.
    const char *kit = "";

    std::vector<const OpFile *> (*files)() = nullptr;
    void (*list)(OpTable &ops) = nullptr;  // the ops' build-time code, for checks and the JIT
};

// The C symbol that the library exports.
using KernelLibraryOf = const KernelLibrary *(*)();
inline constexpr const char *kernel_library_symbol = "halyard_kernels";

// Opens a library for the rest of the program. Throws IoError if it doesn't exist, is not a kernel
// library, or was built for another version of the kit.
const KernelLibrary &open_kernel_library(const std::string &path);

}  // namespace halyard
