// Machines that C99 is compiled for: their names, and what is said where their tools are missing.
#include "tools/c99/target.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

std::string message_of(const auto &call) {
    try {
        call();
    } catch (const Error &e) {
        return e.what();
    }
    return "";
}

TEST(Target, HasANameForEachMachine) {
    for (const char *name : {"x86", "ARM64", "ARM32A", "ARM32M"})
        EXPECT_EQ(name_of(target_of(name, "check")), name);
    EXPECT_EQ(message_of([] { target_of("arm9", "check"); }),
              "[check] --target arm9 doesn't exist; there are x86, ARM64, ARM32A (Cortex-A) and "
              "ARM32M (Cortex-M)");
}

TEST(Target, NamesTheToolsThatAreMissing) {
    const std::string path = std::getenv("PATH");
    setenv("PATH", "/nowhere", 1);
    const std::string of_linux = message_of([] { tools_of(Target::arm32a, "check"); });
    const std::string of_board = message_of([] { tools_of(Target::arm32m, "check"); });
    setenv("PATH", path.c_str(), 1);
    EXPECT_EQ(of_linux, "[check] --target ARM32A needs arm-linux-gnueabihf-gcc and its C library "
                        "and qemu-arm, which aren't on PATH or not installed; Debian's packages: "
                        "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user");
    EXPECT_THAT(of_board, testing::HasSubstr("gcc-arm-none-eabi libnewlib-arm-none-eabi "
                                             "qemu-system-arm"));
}

}  // namespace
}  // namespace halyard::c99
