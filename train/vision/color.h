// Operations for Dataset::map that change the colours of u8[h,w,3]. Results agree with MindSpore's,
// which has OpenCV's arithmetic, within one grey level. Constructors throw AttrError, calls
// ShapeError and DTypeError.
#pragma once
#include "train/vision/augment.h"

namespace halyard::dataset::vision {

// image * brightness_factor
class AdjustBrightness {
public:
    explicit AdjustBrightness(double brightness_factor);
    Tensor operator()(const Tensor &image) const;

private:
    double factor_;
};

// image * contrast_factor + m * (1 - contrast_factor), where m is the mean of the image's grey
// values
class AdjustContrast {
public:
    explicit AdjustContrast(double contrast_factor);
    Tensor operator()(const Tensor &image) const;

private:
    double factor_;
};

// image * saturation_factor + grey values * (1 - saturation_factor)
class AdjustSaturation {
public:
    explicit AdjustSaturation(double saturation_factor);
    Tensor operator()(const Tensor &image) const;

private:
    double factor_;
};

// Rotates the hue by hue_factor of the circle, -0.5 to 0.5.
class AdjustHue {
public:
    explicit AdjustHue(double hue_factor);
    Tensor operator()(const Tensor &image) const;

private:
    double factor_;
};

// A range of factors: [low, high], or for one number v [max(1 - v, 0), 1 + v], for hues [-v, v].
struct FactorRange {
    FactorRange(double v) : plus_minus(v) {}
    FactorRange(double low, double high) : range(Range(low, high)) {}
    double plus_minus = 0;
    std::optional<Range> range = {};
};

struct ColorAdjustOptions {
    FactorRange brightness = {1, 1}, contrast = {1, 1}, saturation = {1, 1}, hue = {0, 0};
};

// Applies the four adjustments in random order with random factors.
class RandomColorAdjust {
public:
    explicit RandomColorAdjust(const ColorAdjustOptions &options);
    Tensor operator()(const Tensor &image, Draw &draw) const;

private:
    Range ranges_[4];
};

}  // namespace halyard::dataset::vision
