#include "ascend/program/dump.h"

#include <cstdlib>
#include <filesystem>

#include "ascend/program/text.h"
#include "registry/base/atomic_file.h"

namespace halyard::dv {

void dump(const Program &p, const char *stage) {
    const char *folder = std::getenv("HALYARD_ASCEND_DUMP");
    if (!folder || !*folder) return;
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    const std::string path = std::string(folder) + "/" + p.name + "." + stage + ".dv";
    write_file(path, to_text(p), Durability::to_system);
}

}  // namespace halyard::dv
