#include "bench/harness/kit_file.h"

#include <algorithm>
#include <filesystem>

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/text.h"

namespace halyard::bench {
namespace {
namespace fs = std::filesystem;

fs::path place_of(const std::string &folder) {
    return installed("share/halyard") / folder;
}

}  // namespace

std::vector<std::string> kit_files(const std::string &folder) {
    std::vector<std::string> names;
    std::error_code none;
    for (auto &entry : fs::directory_iterator(place_of(folder), none))
        names.push_back(entry.path().stem());
    std::sort(names.begin(), names.end());
    return names;
}

std::ifstream open_kit_file(const std::string &folder, const std::string &name,
                            const std::string &what) {
    const auto names = kit_files(folder);
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    std::ifstream file(known ? place_of(folder) / (name + ".txt") : fs::path(name));
    if (!file || fs::is_directory(name))
        throw IoError(name, "no such file, and no such " + what + "; there are " + join(names));
    return file;
}

std::string trimmed(const std::string &s) {
    const size_t from = s.find_first_not_of(" \t\r");
    return from == std::string::npos ? "" : s.substr(from, s.find_last_not_of(" \t\r") - from + 1);
}

}  // namespace halyard::bench
