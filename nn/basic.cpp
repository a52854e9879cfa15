#include "nn/basic.h"

#include "primitives/ops.h"

namespace halyard::nn {

Tensor Flatten::construct(const Tensor &x) const {
    if (x.rank() < 1) throw ShapeError("Flatten", "x's rank is 0, expected at least 1");
    int64_t rest = 1;
    for (int i = 1; i < x.rank(); i++) rest *= x.size(i);
    return F::reshape(x, {x.size(0), rest});
}

Dropout::Dropout(double p) : p_(p) {
    if (!(p >= 0 && p < 1)) throw AttrError("Dropout", "p is " + std::to_string(p) + ", expected 0 <= p < 1");
}

Tensor Dropout::construct(const Tensor &x) const {
    if (!training() || p_ == 0) return x;
    return F::dropout(x, p_)[0];
}

}  // namespace halyard::nn
