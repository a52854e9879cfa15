// Compares a bottleneck block of ResNet-50 in evaluation on the simulated device with the CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/activation.h"
#include "nn/conv.h"
#include "nn/initializer.h"
#include "nn/norm.h"
#include "primitives/context.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/unary.h"
#include "primitives/random.h"

namespace halyard {
namespace {

// Convolutions of 1 x 1, 3 x 3 and 1 x 1, each with its norm. The shortcut has a convolution if the
// number of channels or the stride changes.
class Bottleneck : public nn::Cell {
    nn::Conv2d reduce, across, expand, through;
    nn::BatchNorm2d norm1, norm2, norm3, norm4;

public:
    Bottleneck(int64_t in, int64_t width, int64_t stride)
        : reduce(child("reduce", nn::Conv2d(in, width, 1))),
          across(child("across", nn::Conv2d(width, width, 3, {.stride = stride}))),
          expand(child("expand", nn::Conv2d(width, 4 * width, 1))),
          through(child("through", nn::Conv2d(in, 4 * width, 1, {.stride = stride}))),
          norm1(child("norm1", nn::BatchNorm2d(width))),
          norm2(child("norm2", nn::BatchNorm2d(width))),
          norm3(child("norm3", nn::BatchNorm2d(4 * width))),
          norm4(child("norm4", nn::BatchNorm2d(4 * width))) {}
    Tensor construct(const Tensor &x) const override {
        const Tensor y = F::relu(norm2(across(F::relu(norm1(reduce(x))))));
        return F::relu(F::add(norm3(expand(y)), norm4(through(x))));
    }
};

TEST(ResNet50, BottleneckMatchesTheCpu) {
    for (const int64_t stride : {1, 2}) {
        set_seed(3);
        const Bottleneck block(64, 32, stride);
        const Tensor x = nn::initializer(nn::Normal(1), {2, 64, 14, 14}, DType::f16);
        block.to_float(DType::f16);
        const Tensor here = block(x);
        set_context({.device_target = "Ascend"});
        testing::internal::CaptureStderr();
        const Tensor there = block(x);
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // Nothing ran on the CPU.
        set_context({.device_target = "CPU"});
        ASSERT_EQ(there.shape(), here.shape());
        const std::vector<double> a = here.to_vector<double>();
        const std::vector<double> b = there.to_vector<double>();
        double worst = 0, largest = 0;
        for (size_t i = 0; i < a.size(); i++) {
            worst = std::max(worst, std::fabs(a[i] - b[i]));
            largest = std::max(largest, std::fabs(a[i]));
        }
        EXPECT_GT(largest, 1);
        EXPECT_LE(worst, 2e-3 * largest) << "stride " << stride;
    }
}

}  // namespace
}  // namespace halyard
