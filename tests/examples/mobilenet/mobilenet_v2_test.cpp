#include "examples/mobilenet/mobilenet_v2.h"

#include <gtest/gtest.h>

#include "registry/base/error.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

int64_t elements(const nn::Cell &net) {
    int64_t n = 0;
    for (const Parameter &p : net.trainable_params())
        n += p.data().elements();
    return n;
}

// The network has as many weights as torchvision's mobilenet_v2 with 1000 classes, at widths 1 and
// 1.4.
TEST(MobileNetV2, HasAllParameters) {
    EXPECT_EQ(elements(examples::MobileNetV2(1000)), 3504872);
    EXPECT_EQ(elements(examples::MobileNetV2(1000, 1.4)), 6108776);
    expect_error<AttrError>("[MobileNetV2] width_mult is 0.000000, expected more than 0",
                            [] { examples::MobileNetV2(10, 0); });
}

TEST(MobileNetV2, HasTheRightShapes) {
    EXPECT_EQ(examples::MobileNetV2(7)(Tensor::zeros({2, 3, 64, 48})).shape(), (Shape{2, 7}));
    EXPECT_EQ(examples::InvertedResidual(16, 24, 2, 6)(Tensor::zeros({1, 16, 9, 8})).shape(),
              (Shape{1, 24, 5, 4}));
}

}  // namespace
}  // namespace halyard
