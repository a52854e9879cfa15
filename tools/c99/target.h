// The machines that C99 is compiled for, by MindSpore Lite's names, and the programs that compile
// and run it there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::c99 {

enum class Target : uint8_t { x86, arm64, arm32a, arm32m };

// Returns "ARM64".
std::string name_of(Target target);
// Returns the target of a name. Throws AttrError, of `command`, if there is none.
Target target_of(const std::string &name, const std::string &command);

// Returns the machine in the names of a target's GNU programs, as in "aarch64-linux-gnu-gcc"; ""
// for x86.
std::string machine_of(Target target);
// Returns the compiler's program and what tells it the machine.
std::vector<std::string> compiler_of(Target target);

// The memory that the emulated board has for constants, static memory and tensors: 16 MB, of which
// C's library takes some.
constexpr int64_t board_bytes = int64_t(15) << 20;

// How a program is made and run: the words before the source files, those behind them, and those
// before the program.
struct Tools {
    std::vector<std::string> compiler, libraries, emulator;
};

// Returns the tools of a target other than x86. Throws Error, of `command`, with the programs or
// libraries that are missing and Debian's packages that have them.
Tools tools_of(Target target, const std::string &command);

}  // namespace halyard::c99
