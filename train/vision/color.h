// Operations that change the colours of u8[h,w,3], for Dataset::map, as MindSpore's (OpenCV's
// arithmetic; within one grey level). Errors: ShapeError, DTypeError, AttrError.
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

// image * contrast_factor + m * (1 - contrast_factor), m being the mean of its grey values
class AdjustContrast {
public:
    explicit AdjustContrast(double contrast_factor);
    Tensor operator()(const Tensor &image) const;

private:
    double factor_;
};

// image * saturation_factor + its grey values * (1 - saturation_factor)
class AdjustSaturation {
public:
    explicit AdjustSaturation(double saturation_factor);
    Tensor operator()(const Tensor &image) const;

private:
    double factor_;
};

// The hue moved by hue_factor (-0.5 to 0.5) of the circle.
class AdjustHue {
public:
    explicit AdjustHue(double hue_factor);
    Tensor operator()(const Tensor &image) const;

private:
    double factor_;
};

// A range of factors: from low to high, or of v alone 1 - v (at least 0) to 1 + v; of hues -v to v.
struct Spread {
    Spread(double v) : plus_minus(v) {}
    Spread(double low, double high) : range(Range(low, high)) {}
    double plus_minus = 0;
    std::optional<Range> range = {};
};

struct ColorAdjustOptions {
    Spread brightness = {1, 1}, contrast = {1, 1}, saturation = {1, 1}, hue = {0, 0};
};

// The four in random order, with factors drawn from their ranges.
class RandomColorAdjust {
public:
    explicit RandomColorAdjust(const ColorAdjustOptions &options);
    Tensor operator()(const Tensor &image, Draw &draw) const;

private:
    Range ranges_[4];
};

}  // namespace halyard::dataset::vision
