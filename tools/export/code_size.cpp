#include "tools/export/code_size.h"

#include <cstdlib>
#include <vector>

#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"
#include "registry/base/text.h"

namespace halyard::exporting {
namespace {

// A compiler, and the program that tells the sizes of its objects' sections.
struct Compiler {
    std::vector<std::string> words;
    std::string size;
};

Compiler compiler_of(Target target) {
    switch (target) {
    case Target::x86: return {{"cc", "-Os"}, "size"};
    case Target::arm64: return {{"aarch64-linux-gnu-gcc", "-Os"}, "aarch64-linux-gnu-size"};
    case Target::arm32a: return {{"arm-linux-gnueabihf-gcc", "-Os"}, "arm-linux-gnueabihf-size"};
    case Target::arm32m: break;
    }
    return {{"arm-none-eabi-gcc", "-Os", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16",
             "-mfloat-abi=hard"},
            "arm-none-eabi-size"};
}

}  // namespace

std::optional<CodeSize> code_size(const Project &project, int64_t constant_bytes) {
    const Compiler compiler = compiler_of(project.target);
    if (!has_program(compiler.words[0]) || !has_program(compiler.size)) return std::nullopt;
    const TemporaryFolder folder("halyard_code_size");
    const std::string object = folder.path / "object.o";
    std::vector<std::string> words = compiler.words;
    for (const std::string &word :
         {std::string("-std=c99"), std::string("-ffp-contract=off"),
          "-I" + (project.folder / "include").string(), std::string("-c"),
          (project.folder / "src" / (project.name + ".c")).string(), std::string("-o"), object})
        words.push_back(word);
    if (run_program(words, Keep::output_and_errors).status != 0) return std::nullopt;
    const Ended sizes = run_program({compiler.size, object}, Keep::output);
    const size_t second_line = sizes.text.find('\n');
    if (sizes.status != 0 || second_line == std::string::npos) return std::nullopt;
    const int64_t text = std::strtoll(sizes.text.c_str() + second_line + 1, nullptr, 10);
    return CodeSize{text - constant_bytes, join(compiler.words, " ")};
}

}  // namespace halyard::exporting
