#include "primitives/library.h"

#include "registry/op_files.h"

namespace halyard {

Registry &library() {
    static const bool loaded = (registry().add(op_files()), true);
    (void)loaded;
    return registry();
}

}  // namespace halyard
