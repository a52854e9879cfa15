#include "tools/export/target.h"

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "tools/templates.h"

namespace halyard::exporting {
namespace {

namespace fs = std::filesystem;

// Chips have no files and no terminal; the test runs on an emulated board, if it fits.
constexpr const char *no_board = "if(NOT CMAKE_SYSTEM_NAME STREQUAL \"Generic\")  # a chip without "
                                 "files and a terminal\n";
constexpr const char *if_board =
    "if(CMAKE_CROSSCOMPILING_EMULATOR)  # of a board with a terminal\n";

// Returns the lines that add the emulated board's start-up and memory to the test.
std::string board_of(const std::string &name) {
    return "  target_sources(" + name + "_test PRIVATE test/mps2_an386.c)\n  target_link_options(" +
           name + "_test PRIVATE -nostartfiles -T \"${CMAKE_CURRENT_SOURCE_DIR}/test/" +
           "mps2_an386.ld\")\n  target_link_libraries(" + name + "_test PRIVATE m)\n";
}

}  // namespace

void write_build_files(const Project &project, std::map<std::string, std::string> words,
                       int64_t test_bytes) {
    const fs::path parts = installed("share/halyard/export") / "project";
    const fs::path &folder = project.folder;
    const bool is_cross = project.target != Target::x86;
    words["@toolchain@"] = is_cross ? "if(NOT CMAKE_TOOLCHAIN_FILE)\n  set(CMAKE_TOOLCHAIN_FILE "
                                      "\"${CMAKE_CURRENT_SOURCE_DIR}/toolchain.cmake\")\nendif()\n"
                                    : "";
    const bool has_board = project.target == Target::arm32m && test_bytes < c99::board_bytes;
    words["@if_test@"] = has_board ? if_board : no_board;
    words["@board@"] = has_board ? board_of(project.name) : "";
    fs::copy_file(parts / "CMakePresets.json", folder / "CMakePresets.json");
    write_text(folder / "CMakeLists.txt", filled(text_of(parts / "c99/CMakeLists.txt"), words));
    if (!is_cross) return;
    const std::string file = "toolchain_" + c99::name_of(project.target) + ".cmake";
    fs::copy_file(parts / "c99" / file, folder / "toolchain.cmake");
    if (!has_board) return;
    fs::create_directories(folder / "test");
    for (const char *part : {"mps2_an386.c", "mps2_an386.ld"})
        fs::copy_file(parts / "c99/board" / part, folder / "test" / part);
}

}  // namespace halyard::exporting
