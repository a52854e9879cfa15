#include "tools/halyard/kernels.h"

#include "dsl/op.h"
#include "primitives/library.h"
#include "registry/error.h"
#include "registry/kernel_library.h"

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
    for (const OpFile *file : files)
        for (const OpRecord &r : file->ops) {
            if (const RegisteredOp *same = library().find(r.name); same && same->record.name == r.name)
                throw Error(path, "has an op " + r.name + ", and so has the kit or another library");
            names().push_back(r.name);
        }
    library().add(files);
    opened.list(op_table());
    paths().push_back(path);
}

const std::vector<std::string> &loaded_ops() { return names(); }
const std::vector<std::string> &loaded_libraries() { return paths(); }

}  // namespace halyard::command
