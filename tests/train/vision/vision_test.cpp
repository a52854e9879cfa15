#include "train/vision/vision.h"

#include <gtest/gtest.h>

#include <cmath>

#include "registry/base/error.h"
#include "registry/tensor/npy.h"

using namespace halyard;
using namespace halyard::dataset;
using namespace halyard::dataset::vision;

namespace {

const std::map<std::string, Tensor> &goldens() {
    static const std::map<std::string, Tensor> data = load_npz(HALYARD_SOURCE_DIR
                                                               "/tests/goldens/vision.npz");
    return data;
}

// Returns the largest difference from the golden of that name.
double gap(const Tensor &got, const std::string &name) {
    const Tensor &want = goldens().at(name);
    EXPECT_EQ(got.shape(), want.shape()) << name;
    EXPECT_EQ(got.dtype(), want.dtype()) << name;
    const std::vector<double> a = got.to_vector<double>();
    const std::vector<double> b = want.to_vector<double>();
    double worst = 0;
    for (size_t i = 0; i < a.size() && i < b.size(); i++)
        worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
}

}  // namespace

TEST(Vision, ResizeLinearMatchesExactly) {
    const Tensor &i28 = goldens().at("img28"), &i8 = goldens().at("img8"),
                 &rgb = goldens().at("rgb10x12");
    EXPECT_EQ(gap(Resize({32, 32})(i28), "resize_linear_28_32"), 0);
    EXPECT_EQ(gap(Resize({28, 28})(i8), "resize_linear_8_28"), 0);
    EXPECT_EQ(gap(Resize({32, 32})(i8), "resize_linear_8_32"), 0);
    EXPECT_EQ(gap(Resize({14, 14})(i28), "resize_linear_28_14"), 0);
    EXPECT_EQ(gap(Resize(8)(rgb), "resize_linear_rgb_shorter8"), 0);
}

TEST(Vision, OtherTransformsMatchExactly) {
    const Tensor &i28 = goldens().at("img28"), &rgb = goldens().at("rgb10x12");
    EXPECT_EQ(gap(Resize({28, 28}, Inter::NEAREST)(goldens().at("img8")), "resize_nearest_8_28"),
              0);
    EXPECT_EQ(gap(CenterCrop(8)(rgb), "centercrop8_rgb"), 0);
    EXPECT_EQ(gap(HWC2CHW()(rgb), "hwc2chw_rgb"), 0);
    EXPECT_LE(gap(Rescale(1.0 / 255.0, 0.0)(i28), "rescale_1_255"), 6e-8);
    EXPECT_LE(gap(Rescale(1 / 0.3081, -1 * 0.1307 / 0.3081)(goldens().at("rescale_1_255")),
                  "rescale_then_nml"),
              2.4e-7);
    EXPECT_LE(gap(Normalize({0.485 * 255, 0.456 * 255, 0.406 * 255},
                            {0.229 * 255, 0.224 * 255, 0.225 * 255})(rgb),
                  "normalize_rgb"),
              2.4e-7);
}

TEST(Vision, ToTensorScalesAndMovesChannelsFirst) {
    const Tensor &rgb = goldens().at("rgb10x12");
    const Tensor image = ToTensor()(rgb);
    const Tensor of_half = ToTensor(DType::f16)(rgb);
    EXPECT_EQ(image.shape(), (Shape{3, 10, 12}));
    EXPECT_EQ(of_half.dtype(), DType::f16);
    for (int64_t i = 0; i < 10; i++) {
        for (int64_t j = 0; j < 12; j++) {
            for (int64_t c = 0; c < 3; c++) {
                const float expected = float(rgb.at({i, j, c})) / 255;
                ASSERT_EQ(image.at({c, i, j}), expected);
                ASSERT_EQ(of_half.at({c, i, j}), double(float(float16(expected))));
            }
        }
    }
    EXPECT_THROW(ToTensor()(Tensor::ones({4, 4})), ShapeError);
}

TEST(Vision, CropPadsASmallerImage) {
    const Tensor t = CenterCrop(4)(Tensor::ones({2, 6, 1}, DType::u8));
    EXPECT_EQ(t.shape(), (Shape{4, 4, 1}));
    EXPECT_EQ(t.to_vector<int64_t>(),
              (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(Vision, StridedImages) {
    const Tensor &rgb = goldens().at("rgb10x12");
    const Tensor chw = HWC2CHW()(rgb);
    const Tensor view = chw.transpose({1, 2, 0});
    EXPECT_EQ(gap(Resize(8)(view), "resize_linear_rgb_shorter8"), 0);
    EXPECT_EQ(gap(CenterCrop(8)(view), "centercrop8_rgb"), 0);
}

TEST(Vision, RejectsInvalidArguments) {
    EXPECT_THROW(Resize(0), AttrError);
    EXPECT_THROW(Resize(4)(Tensor::ones({4, 4})), ShapeError);
    EXPECT_THROW(Resize(4)(Tensor::ones({3, 3, 1})), DTypeError);
    EXPECT_THROW(Resize(4)(Tensor::ones({0, 3, 1}, DType::u8)), ShapeError);
    EXPECT_THROW(Normalize({1}, {0}), AttrError);
    EXPECT_THROW(Normalize({1}, {1})(Tensor::ones({2, 2, 3})), ShapeError);
    EXPECT_EQ(transforms::TypeCast(DType::i32)(Tensor::full({}, 3, DType::u8)).dtype(), DType::i32);
}
