// Does what halyard_library() generates for an op file, for ops without kernels. Each has a dummy
// kernel that must not be called.
#include "registry/dispatch/kernel_library.h"

#include "dsl/op.h"

namespace halyard {
void halyard_list_mistakes(OpTable &ops);
void halyard_list_planted(OpTable &ops);
namespace {

void list(OpTable &ops) {
    halyard_list_mistakes(ops);
    halyard_list_planted(ops);
}

int no_kernel(void **) {
    return 1;
}

std::vector<const OpFile *> files() {
    static const OpFile file = [] {
        OpFile f;
        OpTable ops;
        list(ops);
        for (auto &name : ops.names()) {
            const OpPtr op = ops.make(name);
            f.ops.push_back(*op);
            f.kernels.push_back(
                {name, "cpu", op->dtypes[0], op->variants[0].name, host_isa(), 4, {}, no_kernel});
        }
        return f;
    }();
    return {&file};
}

}  // namespace
}  // namespace halyard

extern "C" const halyard::KernelLibrary *halyard_kernels();
extern "C" const halyard::KernelLibrary *halyard_kernels() {
    static const halyard::KernelLibrary library = {
        .kit = "tests", .files = halyard::files, .list = halyard::list};
    return &library;
}
