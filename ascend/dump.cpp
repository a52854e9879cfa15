#include "ascend/dump.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ascend/text.h"
#include "registry/error.h"

namespace halyard::dv {

void dump(const Program &p, const char *stage) {
    const char *folder = std::getenv("HALYARD_ASCEND_DUMP");
    if (!folder || !*folder) return;
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    const std::string path = std::string(folder) + "/" + p.name + "." + stage + ".dv";
    std::ofstream file(path);
    file << to_text(p);
    if (!file.flush()) throw AttrError(p.name, "HALYARD_ASCEND_DUMP: '" + path + "' can't be written");
}

}  // namespace halyard::dv
