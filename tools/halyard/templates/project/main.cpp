// Calls new_op as any op of the kit is called.
#include <cstdio>

#include "new_project/ops.h"

using namespace halyard;

// 0, 0.5, 1, ... in this shape.
Tensor ramp(const Shape &shape) {
    const Tensor t = Tensor::empty(shape);
    for (int64_t i = 0; i < t.elements(); i++)
        t.data<float>()[i] = 0.5F * float(i);
    return t;
}

int main() {
    library().add(new_project_op_files());
    const Tensor y = F::new_op(ramp({2, 3}));
    std::printf("%s\n", y.text().c_str());
}
