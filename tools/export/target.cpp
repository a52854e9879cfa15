#include "tools/export/target.h"

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "tools/templates.h"

namespace halyard::exporting {
namespace {

namespace fs = std::filesystem;

const char *name_of(Target target) {
    switch (target) {
    case Target::x86: return "x86";
    case Target::arm64: return "ARM64";
    case Target::arm32a: return "ARM32A";
    case Target::arm32m: break;
    }
    return "ARM32M";
}

}  // namespace

Target target_of(const std::string &name) {
    for (const Target t : {Target::x86, Target::arm64, Target::arm32a, Target::arm32m})
        if (name == name_of(t)) return t;
    throw AttrError("export", "--target " + name +
                                  " doesn't exist; there are x86, ARM64, ARM32A (Cortex-A) and "
                                  "ARM32M (Cortex-M)");
}

void write_build_files(const Project &project, std::map<std::string, std::string> words) {
    const fs::path parts = installed("share/halyard/export") / "project";
    const fs::path &folder = project.folder;
    const bool is_cross = project.target != Target::x86;
    words["@toolchain@"] = is_cross ? "if(NOT CMAKE_TOOLCHAIN_FILE)\n  set(CMAKE_TOOLCHAIN_FILE "
                                      "\"${CMAKE_CURRENT_SOURCE_DIR}/toolchain.cmake\")\nendif()\n"
                                    : "";
    fs::copy_file(parts / "CMakePresets.json", folder / "CMakePresets.json");
    write_text(folder / "CMakeLists.txt", filled(text_of(parts / "c99/CMakeLists.txt"), words));
    if (!is_cross) return;
    const std::string file = std::string("toolchain_") + name_of(project.target) + ".cmake";
    fs::copy_file(parts / "c99" / file, folder / "toolchain.cmake");
}

}  // namespace halyard::exporting
