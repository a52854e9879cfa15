#include "registry/dispatch/plan.h"

namespace halyard {

OperandMeta meta_of(const Tensor &t) {
    return {t.dtype(), t.shape(), t.strides()};
}

}  // namespace halyard
