#include "tools/c99/target.h"

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/run_program.h"
#include "registry/base/text.h"

namespace halyard::c99 {
namespace {

// What a target needs, with Debian's packages for it.
struct Needed {
    std::string compiler, compiler_package, library_package, emulator, emulator_package;
};

// True if the compiler, which exists, finds the C library: it prints where that is.
bool has_library(const std::string &compiler) {
    const Ended ended = run_program({compiler, "-print-file-name=libm.a"}, Keep::output);
    return ended.status == 0 && ended.text.find('/') != std::string::npos;
}

void require(Target target, const Needed &needed, const std::string &command) {
    std::vector<std::string> missing, packages;
    const bool has_compiler = has_program(needed.compiler);
    if (!has_compiler) {
        missing.push_back(needed.compiler);
        packages.push_back(needed.compiler_package);
    }
    if (!has_compiler || !has_library(needed.compiler)) {
        missing.push_back("its C library");
        packages.push_back(needed.library_package);
    }
    if (!has_program(needed.emulator)) {
        missing.push_back(needed.emulator);
        packages.push_back(needed.emulator_package);
    }
    if (missing.empty()) return;
    throw Error(command, "--target " + name_of(target) + " needs " + join(missing, " and ") +
                             ", which aren't on PATH or not installed; Debian's packages: " +
                             join(packages, " "));
}

Tools tools_of_linux(Target target, const std::string &library, const std::string &qemu,
                     const std::string &command) {
    std::vector<std::string> compiler = compiler_of(target);
    require(target, {compiler[0], "gcc-" + machine_of(target), library, qemu, "qemu-user"},
            command);
    compiler.push_back("-static");
    return {compiler, {"-lm"}, {qemu}};
}

// The board's start-up and memory are those of exported projects.
Tools tools_of_board(const std::string &command) {
    std::vector<std::string> compiler = compiler_of(Target::arm32m);
    require(Target::arm32m,
            {compiler[0], "gcc-arm-none-eabi", "libnewlib-arm-none-eabi", "qemu-system-arm",
             "qemu-system-arm"},
            command);
    const std::string board =
        installed("share/halyard/export/project/c99/board/mps2_an386").string();
    compiler.insert(compiler.end(), {"-nostartfiles", "-T", board + ".ld", board + ".c"});
    return {compiler,
            {"-lm"},
            {"qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial",
             "none", "-semihosting-config", "enable=on,target=native", "-kernel"}};
}

}  // namespace

std::string name_of(Target target) {
    switch (target) {
    case Target::x86: return "x86";
    case Target::arm64: return "ARM64";
    case Target::arm32a: return "ARM32A";
    case Target::arm32m: break;
    }
    return "ARM32M";
}

Target target_of(const std::string &name, const std::string &command) {
    for (const Target t : {Target::x86, Target::arm64, Target::arm32a, Target::arm32m})
        if (name == name_of(t)) return t;
    throw AttrError(command, "--target " + name +
                                 " doesn't exist; there are x86, ARM64, ARM32A (Cortex-A) and "
                                 "ARM32M (Cortex-M)");
}

std::string machine_of(Target target) {
    switch (target) {
    case Target::x86: return "";
    case Target::arm64: return "aarch64-linux-gnu";
    case Target::arm32a: return "arm-linux-gnueabihf";
    case Target::arm32m: break;
    }
    return "arm-none-eabi";
}

std::vector<std::string> compiler_of(Target target) {
    if (target == Target::x86) return {"cc"};
    std::vector<std::string> words = {machine_of(target) + "-gcc"};
    if (target == Target::arm32m) {
        words.insert(words.end(),
                     {"-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"});
    }
    return words;
}

Tools tools_of(Target target, const std::string &command) {
    if (target == Target::arm64) {
        return tools_of_linux(target, "libc6-dev-arm64-cross", "qemu-aarch64", command);
    }
    if (target == Target::arm32a) {
        Tools tools = tools_of_linux(target, "libc6-dev-armhf-cross", "qemu-arm", command);
        tools.compiler.push_back("-march=armv7-a+neon-vfpv4");
        return tools;
    }
    return tools_of_board(command);
}

}  // namespace halyard::c99
