// Tests transforms that move pixels, change colours and mix batches. tests/goldens/augment.py has
// MindSpore's results.
#include "train/vision/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "registry/tensor/npy.h"
#include "tests/registry/expect_error.h"
#include "train/data/sources.h"
#include "train/data/transform.h"
#include "train/vision/color.h"
#include "train/vision/mix.h"

namespace halyard::dataset::vision {
namespace {

const std::map<std::string, Tensor> &goldens() {
    static const std::map<std::string, Tensor> data = load_npz(HALYARD_SOURCE_DIR
                                                               "/tests/goldens/augment.npz");
    return data;
}

// The largest difference from the golden of that name, and the share of elements that differ.
struct Gap {
    int worst = 0;
    double share = 0;
};

Gap gap(const Tensor &got, const std::string &name) {
    const Tensor &want = goldens().at(name);
    EXPECT_EQ(got.shape(), want.shape()) << name;
    const std::vector<int> a = got.to_vector<int>();
    const std::vector<int> b = want.to_vector<int>();
    Gap g;
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++) {
        g.worst = std::max(g.worst, std::abs(a[i] - b[i]));
        g.share += a[i] != b[i];
    }
    g.share /= double(a.size());
    return g;
}

void expect_same(const Tensor &got, const std::string &name) {
    const Gap g = gap(got, name);
    EXPECT_EQ(g.worst, 0) << name << ": " << g.share << " of the pixels differ";
}

void expect_close(const Tensor &got, const std::string &name) {
    const Gap g = gap(got, name);
    EXPECT_LE(g.worst, 1) << name << ": " << g.share << " of the pixels differ";
    EXPECT_LE(g.share, 0.03) << name;
}

Draw draw(uint64_t row) {
    return {Random(1, 0), row};
}

std::string text(double v) {
    std::string s = std::to_string(v);
    while (s.back() == '0')
        s.pop_back();
    if (s.back() == '.') s.pop_back();
    return s;
}

Tensor ramp(int64_t h, int64_t w) {
    const Tensor t = Tensor::empty({h, w, 3}, DType::u8);
    for (int64_t i = 0; i < t.elements(); i++)
        t.data<uint8_t>()[i] = uint8_t(i * 7 + i / 40);
    return t;
}

}  // namespace

TEST(Augment, MatchesMindSpore) {
    for (const std::string name : {"smooth", "noise"}) {
        const Tensor &image = goldens().at(name);
        const auto key = [&](const std::string &op) { return name + "_" + op; };
        expect_same(HorizontalFlip()(image), key("hflip"));
        expect_same(VerticalFlip()(image), key("vflip"));
        expect_same(Crop({2, 3}, {5, 6})(image), key("crop"));
        const std::pair<const char *, Border> modes[] = {{"constant", Border::CONSTANT},
                                                         {"edge", Border::EDGE},
                                                         {"reflect", Border::REFLECT},
                                                         {"symmetric", Border::SYMMETRIC}};
        for (const auto &[mode, border] : modes) {
            expect_same(Pad({1, 2, 3, 4}, {9, 8, 7}, border)(image),
                        key(std::string("pad_") + mode));
        }
        for (const double degrees : {0., 30., 90., -47.5, 180.}) {
            expect_same(Rotate(degrees)(image), key("rotate_" + text(degrees) + "_nearest"));
            // MindSpore 2.10 takes this colour, (9, 8, 7) in its call, in reverse order, unlike
            // Pad's.
            expect_same(
                Rotate(degrees, {.resample = Inter::LINEAR, .fill_value = {7, 8, 9}})(image),
                key("rotate_" + text(degrees) + "_bilinear"));
            expect_same(Rotate(degrees, {.expand = true})(image),
                        key("rotate_" + text(degrees) + "_expand"));
        }
        expect_same(Rotate(30, {.resample = Inter::LINEAR, .center = {{3, 4}}})(image),
                    key("rotate_30_center"));
        for (const double f : {0., 0.3, 1., 1.7}) {
            expect_same(AdjustBrightness(f)(image), key("brightness_" + text(f)));
            expect_close(AdjustContrast(f)(image), key("contrast_" + text(f)));
            expect_close(AdjustSaturation(f)(image), key("saturation_" + text(f)));
        }
        for (const double f : {-0.5, -0.1, 0., 0.2, 0.5})
            expect_close(AdjustHue(f)(image), key("hue_" + text(f)));
        expect_same(Resize({5, 6})(Crop({1, 2}, {7, 8})(image)), key("resized_crop"));
        expect_same(Resize({4, 5})(image), key("resize_down"));
        expect_same(Resize(13)(image), key("resize_shorter"));
    }
    using transforms::OneHot;
    EXPECT_EQ(OneHot(5)(Tensor::from(std::vector<int32_t>{3, 0}, {2})).to_vector<int>(),
              goldens().at("one_hot").to_vector<int>());
    const std::vector<double> smooth =
        OneHot(5, 0.1)(Tensor::scalar(3, DType::i32)).to_vector<double>();
    const std::vector<double> want = goldens().at("one_hot_smooth").to_vector<double>();
    for (size_t i = 0; i < 5; i++)
        EXPECT_NEAR(smooth[i], want[i], 1e-7);
}

TEST(Augment, FlipsOfAnyTypeAndView) {
    const Tensor t = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3, 1});
    EXPECT_EQ(HorizontalFlip()(t).to_vector<int>(), (std::vector<int>{3, 2, 1, 6, 5, 4}));
    EXPECT_EQ(VerticalFlip()(t.transpose({1, 0, 2})).to_vector<int>(),
              (std::vector<int>{3, 6, 2, 5, 1, 4}));
    int flipped = 0;
    for (uint64_t row = 0; row < 2000; row++) {
        Draw d = draw(row);
        flipped += RandomHorizontalFlip(0.3)(t, d).at({0, 0, 0}) == 3;
    }
    EXPECT_NEAR(flipped, 600, 100);
}

TEST(Augment, RandomCropsAreWithinAndReachTheEdges) {
    const Tensor image = ramp(9, 12);
    int64_t corners = 0;
    for (uint64_t row = 0; row < 400; row++) {
        Draw d = draw(row);
        const Tensor t = RandomCrop({8, 10})(image, d);
        EXPECT_EQ(t.shape(), (Shape{8, 10, 3}));
        corners += t.at({0, 0, 0}) == image.at({0, 0, 0}) ||
                   t.at({7, 9, 2}) == image.at({8, 11, 2});
    }
    EXPECT_NEAR(double(corners), 400. * 2 / 6, 50);  // Two of the six places.
    Draw d = draw(0);
    EXPECT_EQ(RandomCrop(16, Padding(0), true)(image, d).shape(), (Shape{16, 16, 3}));
    EXPECT_EQ(RandomCrop(13, Padding(4))(image, d).shape(), (Shape{13, 13, 3}));
    EXPECT_EQ(RandomCrop({9, 30}, Padding(0), true, {}, Border::EDGE)(image, d).shape(),
              (Shape{9, 30, 3}));
    expect_error<ShapeError>("[RandomCrop] size is 16 x 16, the padded image [9,12,3]",
                             [&] { RandomCrop(16)(image, d); });
}

// The image is flat: the columns that a side mirrors don't depend on the number of rows.
TEST(Augment, PaddingIsLimitedInItsDirection) {
    const Tensor flat = ramp(2, 12);
    const Tensor wide = Pad({5, 1, 11, 0}, {}, Border::REFLECT)(flat);
    EXPECT_EQ(wide.shape(), (Shape{3, 28, 3}));
    EXPECT_EQ(wide.at({0, 5, 0}), flat.at({1, 0, 0}));
    EXPECT_EQ(wide.at({1, 0, 0}), flat.at({0, 5, 0}));
    EXPECT_EQ(wide.at({2, 27, 0}), flat.at({1, 0, 0}));
    expect_error<ShapeError>("[Pad] an image of [2,12,3] can't be padded by 2 rows, at most by 1",
                             [&] {
                                 Pad({0, 2, 0, 0}, {}, Border::REFLECT)(flat);
                             });
    expect_error<ShapeError>(
        "[Pad] an image of [2,12,3] can't be padded by 13 columns, at most by 12", [&] {
            Pad({0, 0, 13, 0}, {}, Border::SYMMETRIC)(flat);
        });
}

TEST(Augment, RandomBoxesHaveTheirAreaAndAspect) {
    const RandomBox box("test", {0.25, 0.5}, {0.5, 2});
    double area = 0;
    for (uint64_t row = 0; row < 2000; row++) {
        Draw d = draw(row);
        const Box b = box(200, 300, d);
        ASSERT_TRUE(b.top >= 0 && b.left >= 0 && b.top + b.height <= 200 &&
                    b.left + b.width <= 300);
        const double share = double(b.height * b.width) / 60000;
        const double aspect = double(b.width) / double(b.height);
        ASSERT_TRUE(share > 0.245 && share < 0.51) << share;
        ASSERT_TRUE(aspect > 0.49 && aspect < 2.05) << aspect;
        area += share / 2000;
    }
    EXPECT_NEAR(area, 0.375, 0.01);
    Draw d = draw(0);
    // No box fits, so it is the middle.
    const Box wide = RandomBox("test", {1, 1}, {1, 2})(10, 100, d);
    EXPECT_EQ((std::vector<int64_t>{wide.top, wide.left, wide.height, wide.width}),
              (std::vector<int64_t>{0, 40, 10, 20}));
    expect_error<AttrError>("[RandomResizedCrop] scale is 0.500000 to 0.200000, expected a range "
                            "from at least 0.000000",
                            [] {
                                RandomResizedCrop(4, {0.5, 0.2});
                            });
}

TEST(Augment, ColoursAreDrawnWithinTheirRanges) {
    const Tensor image = ramp(6, 6);
    Draw a = draw(3), b = draw(3);
    const RandomColorAdjust all(
        {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1});
    EXPECT_EQ(all(image, a).to_vector<int>(), all(image, b).to_vector<int>());
    EXPECT_EQ(RandomColorAdjust({})(image, a).to_vector<int>(), image.to_vector<int>());
    std::set<int> seen;
    for (uint64_t row = 0; row < 200; row++) {
        Draw d = draw(row);
        const int v = int(RandomColorAdjust({.brightness = {0.5, 1.5}})(
                              Tensor::full({1, 1, 3}, 100, DType::u8), d)
                              .at({0, 0, 0}));
        EXPECT_TRUE(v >= 50 && v <= 150) << v;
        seen.insert(v);
    }
    EXPECT_GT(seen.size(), 50u);
    expect_error<AttrError>("[RandomColorAdjust] hue is -0.700000 to 0.700000, expected a range "
                            "within -0.500000 to 0.500000",
                            [] { RandomColorAdjust({.hue = 0.7}); });
    expect_error<ShapeError>("[AdjustHue] c is 1, expected 3", [] {
        AdjustHue(0.1)(Tensor::zeros({2, 2, 1}, DType::u8));
    });
}

TEST(Augment, MixUpMixesImagesAndLabelsEqually) {
    constexpr int64_t n = 8;
    const Tensor images = Tensor::empty({n, 2, 2, 1});
    const Tensor labels = transforms::OneHot(n)(
        Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}, {n}));
    for (int64_t i = 0; i < images.elements(); i++)
        images.data<float>()[i] = float(i / 4);
    Draw d = draw(5);
    const Tensors mixed = MixUpBatch(0.8)({images, labels}, d);
    std::vector<float> own;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0, image = 0;
        for (int64_t c = 0; c < n; c++) {
            sum += mixed[1].at({i, c});
            image += double(c) * mixed[1].at({i, c});
        }
        EXPECT_NEAR(sum, 1, 1e-6);
        EXPECT_NEAR(mixed[0].at({i, 1, 1, 0}), image, 1e-5);  // An image's value is its class.
        if (mixed[1].at({i, i}) != 1) own.push_back(float(mixed[1].at({i, i})));
    }
    ASSERT_GT(own.size(), 1u);
    for (const float v : own)
        EXPECT_EQ(v, own[0]);               // The batch has one share.
    EXPECT_EQ(images.at({3, 0, 0, 0}), 3);  // The input is unchanged.
    expect_error<ShapeError>("[MixUpBatch] labels are [8], expected [8,classes]", [&] {
        MixUpBatch()({images, Tensor::zeros({8})}, d);
    });
}

TEST(Augment, CutMixCountsItsPixels) {
    constexpr int64_t n = 6, side = 10;
    const Tensor labels = transforms::OneHot(n)(
        Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {n}));
    for (const bool last : {true, false}) {
        const Tensor images = Tensor::empty(
            last ? Shape{n, side, side, 3} : Shape{n, 3, side, side}, DType::u8);
        for (int64_t i = 0; i < images.elements(); i++)
            images.data<uint8_t>()[i] = uint8_t(i / (3 * side * side));
        int64_t cut = 0;
        for (uint64_t row = 0; row < 20; row++) {
            Draw d = draw(row);
            const Tensors mixed = CutMixBatch(last ? ImageBatchFormat::NHWC
                                                   : ImageBatchFormat::NCHW)({images, labels}, d);
            for (int64_t i = 0; i < n; i++) {
                int64_t pixels[n] = {};
                for (const int v : mixed[0].slice(0, i, i + 1).to_vector<int>())
                    pixels[v]++;
                for (int64_t c = 0; c < n; c++)
                    EXPECT_NEAR(mixed[1].at({i, c}), double(pixels[c]) / (3 * side * side), 1e-6);
                cut += pixels[i] != 3 * side * side;
            }
        }
        EXPECT_GT(cut, 60);
    }
}

// The pipeline as a user writes it: one-hot labels, batches, mixtures.
TEST(Augment, InAPipeline) {
    const Dataset d = TensorDataset({{"image", Tensor::ones({10, 4, 4, 3}, DType::u8)},
                                     {"label", Tensor::from(std::vector<int32_t>(10, 2), {10})}});
    const transforms::Compose augment({RandomHorizontalFlip(),
                                       transforms::RandomApply(RandomCrop(3), 1),
                                       Rescale(1.0 / 255, 0), HWC2CHW()});
    const Dataset mixed = d.map(augment, "image")
                              .map(transforms::OneHot(3), "label")
                              .batch(5)
                              .map(MixUpBatch(), {"image", "label"});
    for (const Row &row : mixed.create_dict_iterator()) {
        EXPECT_EQ(row["image"].shape(), (Shape{5, 3, 3, 3}));
        EXPECT_EQ(row["label"].slice(1, 2, 3).to_vector<int>(), std::vector<int>(5, 1));
    }
}

}  // namespace halyard::dataset::vision
