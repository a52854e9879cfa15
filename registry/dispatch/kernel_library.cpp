#include "registry/dispatch/kernel_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "registry/base/error.h"
#include "registry/base/version.h"

namespace halyard {
namespace {

// Throws IoError unless a number that the library was built with is this build's.
void require_same(const std::string &path, const KernelLibrary &library, const std::string &what,
                  int32_t theirs, int32_t ours) {
    if (theirs == ours) return;
    const bool has_version = library.kit && *library.kit;
    throw IoError(path, std::string("was built by halyard ") +
                            (has_version ? library.kit : "(no version)") + " with " + what + " " +
                            std::to_string(theirs) + ", but this is halyard " + version() +
                            " with " + what + " " + std::to_string(ours) + ": rebuild the library");
}

}  // namespace

const KernelLibrary &open_kernel_library(const std::string &path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) throw IoError(path, "no such kernel library");
    // dlopen() searches other folders for a bare name, so the path is absolute. Binding is lazy: a
    // library for another version may need functions that no longer exist. It can be opened
    // nevertheless, and is then rejected for its version. The handle is never closed, because
    // records and kernels of the library are used until the program ends.
    void *handle = dlopen(fs::absolute(path).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) throw IoError(path, std::string("can't be opened: ") + dlerror());
    const auto library_of = reinterpret_cast<KernelLibraryOf>(dlsym(handle, kernel_library_symbol));
    if (!library_of) {
        throw IoError(path, std::string("is no kernel library: it has no symbol ") +
                                kernel_library_symbol);
    }
    const KernelLibrary *library = library_of();
    if (!library) {
        throw IoError(path, std::string("is no kernel library: ") + kernel_library_symbol +
                                "() returned null");
    }
    const KernelLibrary this_build;
    require_same(path, *library, "kernel ABI", library->abi, this_build.abi);
    require_same(path, *library, "record size", library->record_bytes, this_build.record_bytes);
    return *library;
}

}  // namespace halyard
