#include "primitives/library.h"

#include "primitives/composition.h"
#include "primitives/context.h"
#include "registry/op/op_files.h"

namespace halyard {

Registry &library() {
    static const bool loaded = [] {
        registry().add(op_files());
        registry().add(composite_files());
        return true;
    }();
    static const bool set = (set_context_from_environment(), true);
    (void)loaded;
    (void)set;
    return registry();
}

}  // namespace halyard
