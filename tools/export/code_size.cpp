#include "tools/export/code_size.h"

#include <cstdlib>
#include <vector>

#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"
#include "registry/base/text.h"

namespace halyard::exporting {
std::optional<CodeSize> code_size(const Project &project, int64_t constant_bytes) {
    std::vector<std::string> compiler = c99::compiler_of(project.target);
    compiler.insert(compiler.begin() + 1, "-Os");
    const std::string machine = c99::machine_of(project.target);
    const std::string size = machine.empty() ? "size" : machine + "-size";
    if (!has_program(compiler[0]) || !has_program(size)) return std::nullopt;
    const TemporaryFolder folder("halyard_code_size");
    const std::string object = folder.path / "object.o";
    std::vector<std::string> words = compiler;
    for (const std::string &word :
         {std::string("-std=c99"), std::string("-ffp-contract=off"),
          "-I" + (project.folder / "include").string(), std::string("-c"),
          (project.folder / "src" / (project.name + ".c")).string(), std::string("-o"), object})
        words.push_back(word);
    if (run_program(words, Keep::output_and_errors).status != 0) return std::nullopt;
    const Ended sizes = run_program({size, object}, Keep::output);
    const size_t second_line = sizes.text.find('\n');
    if (sizes.status != 0 || second_line == std::string::npos) return std::nullopt;
    const int64_t text = std::strtoll(sizes.text.c_str() + second_line + 1, nullptr, 10);
    return CodeSize{text - constant_bytes, join(compiler, " ")};
}

}  // namespace halyard::exporting
