// Composites in an exported library: the primitives that they are made of, on the library's own
// ops.
#include "primitives/composites/composite.h"
#include "primitives/library.h"
#include "tools/export/runtime/composed_gradient.h"
#include "tools/export/runtime/composer.h"
#include "tools/export/runtime/host.h"

namespace halyard {

Registry &library() {
    host::ops();
    return registry();
}

void list_composites(CompositeTable &composites) {
    composites.begin_file(host::library_name(), "");
    for (void (*const list)(CompositeTable &) : host::composer().files)
        list(composites);
}

namespace host {

std::vector<Tensor> run_composed(const RegisteredOp &op, std::span<const Tensor> in,
                                 const Attrs &attrs) {
    if (const RegisteredOp *const forward = differentiated_by(op))
        return run_composed_gradient(*forward, op, in, attrs);
    return Primitive(op, attrs).run(in);
}

}  // namespace host
}  // namespace halyard
