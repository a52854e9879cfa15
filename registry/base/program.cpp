#include "registry/base/program.h"

#include <sys/auxv.h>

#include "registry/base/error.h"

namespace halyard {
namespace fs = std::filesystem;

fs::path own_program() {
    std::error_code failed;
    const fs::path linked = fs::read_symlink("/proc/self/exe", failed);
    if (!failed) return linked;
    const auto *started = reinterpret_cast<const char *>(getauxval(AT_EXECFN));
    const fs::path found = started ? fs::canonical(started, failed) : fs::path();
    if (!started || failed)
        throw IoError("/proc/self/exe", "can't be read, so the program's path is unknown");
    return found;
}

fs::path installed(const fs::path &place) {
    return own_program().parent_path().parent_path() / place;
}

}  // namespace halyard
