#include "registry/base/version.h"

namespace halyard {

const char *version() {
    return HALYARD_VERSION;
}

}  // namespace halyard
