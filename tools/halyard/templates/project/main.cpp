// Calls new_op in the same way as the kit's own ops.
#include <cstdio>

#include "new_project/ops.h"

using namespace halyard;

// Returns a tensor with the elements 0, 0.5, 1, ...
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
