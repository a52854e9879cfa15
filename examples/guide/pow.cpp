// A primitive as an object, and as a function: "MindSpore in detail (2)", section 8.
#include <cstdio>

#include "primitives/ops/binary.h"

using namespace halyard;

int main() {
    const Tensor input_x = Tensor::from<float>({1.0, 2.0, 4.0});
    const double input_y = 3.0;

    // A primitive as an object.
    const ops::Pow pow;
    Tensor output = pow(input_x, input_y);
    std::printf("%s\n", output.text().c_str());

    // The same as a function.
    output = F::tensor_pow(input_x, input_y);
    std::printf("%s\n", output.text().c_str());
}
