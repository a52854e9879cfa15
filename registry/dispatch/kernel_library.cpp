#include "registry/dispatch/kernel_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "registry/base/error.h"
#include "registry/base/version.h"

namespace halyard {

const KernelLibrary &open_kernel_library(const std::string &path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) throw IoError(path, "no such kernel library");
    // dlopen() searches other folders for a bare name, so the path is absolute. Binding is lazy: a
    // library for another version may need functions that no longer exist.
    void *handle = dlopen(fs::absolute(path).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) throw IoError(path, std::string("can't be opened: ") + dlerror());
    const auto library_of = (KernelLibraryOf)dlsym(handle, kernel_library_symbol);
    if (!library_of) {
        throw IoError(path, std::string("is no kernel library: it has no symbol ") +
                                kernel_library_symbol);
    }
    const KernelLibrary &library = *library_of();
    const KernelLibrary here;
    auto refuse = [&](const char *what, int32_t theirs, int32_t ours) {
        throw IoError(path, std::string("was built with kit ") + library.kit + ", " + what + " " +
                                std::to_string(theirs) + "; this kit, " + version() + ", has " +
                                std::to_string(ours) + ": build it again");
    };
    if (library.abi != here.abi) refuse("kernel ABI", library.abi, here.abi);
    if (library.record_bytes != here.record_bytes)
        refuse("record size", library.record_bytes, here.record_bytes);
    return library;
}

}  // namespace halyard
