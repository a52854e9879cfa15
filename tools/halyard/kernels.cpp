#include "tools/halyard/kernels.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "dsl/op.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/dispatch/kernel_library.h"

namespace halyard::command {
namespace {

std::vector<std::string> &names() {
    static std::vector<std::string> all;
    return all;
}

std::vector<std::string> &paths() {
    static std::vector<std::string> all;
    return all;
}

}  // namespace

void load_kernels(const std::string &path) {
    const KernelLibrary &opened = open_kernel_library(path);
    const std::vector<const OpFile *> files = opened.files();
    for (const OpFile *file : files) {
        for (const OpRecord &r : file->ops) {
            if (const RegisteredOp *same = library().find(r.name);
                same && same->record.name == r.name) {
                throw Error(path,
                            "has an op " + r.name + ", and so has the kit or another library");
            }
            names().push_back(r.name);
        }
    }
    library().add(files);
    opened.list(op_table());
    paths().push_back(path);
}

const std::vector<std::string> &loaded_ops() {
    return names();
}
const std::vector<std::string> &loaded_libraries() {
    return paths();
}

std::string repro_kernel_options() {
    std::string options;
    for (auto &path : paths())
        options += " --kernels " + shell_word(path);
    return options;
}

std::string shell_word(const std::string &text) {
    const auto plain = [](unsigned char c) {
        return std::isalnum(c) || std::strchr("_-./=,:+@%", c);
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
    std::string word = "'";
    for (char c : text)
        word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

}  // namespace halyard::command
