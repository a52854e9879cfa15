// A kernel library of an incompatible kit. All members but the first three have moved: a caller of
// them crashes.
#include <cstdint>

#include "registry/dispatch/kernel_library.h"

namespace {
struct OtherLibrary {
    int32_t abi = halyard::kernel_abi + ABI_OFFSET;
    int32_t record_bytes = 1;
    const char *kit = KIT;
    void *files = nullptr, *list = nullptr;
};
}  // namespace

extern "C" const void *halyard_kernels();
extern "C" const void *halyard_kernels() {
    static const OtherLibrary library;
    return &library;
}
