// Operations on images, for Dataset::map: [h,w,c] with c = 1 (grey) or 3 as a rule. Errors:
// ShapeError, DTypeError, AttrError.
#pragma once
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::dataset {

enum class Inter { LINEAR, NEAREST };

namespace vision {

// To `height` x `width`; with one size the shorter side gets it and the ratio stays.
//   LINEAR   bilinear, of u8 only, with 11-bit weights, as MindSpore to the bit
//   NEAREST  source pixel floor(i * scale), any dtype
class Resize {
public:
    explicit Resize(int64_t shorter_side, Inter interpolation = Inter::LINEAR);
    Resize(std::pair<int64_t, int64_t> height_width, Inter interpolation = Inter::LINEAR);
    Tensor operator()(const Tensor &image) const;

private:
    int64_t height_, width_;  // width 0: height is the shorter side
    Inter interpolation_;
};

// x * rescale + shift, in f32.
struct Rescale {
    Rescale(double factor, double offset) : rescale(float(factor)), shift(float(offset)) {}
    Tensor operator()(const Tensor &image) const;
    float rescale, shift;
};

// (x - mean[c]) / std[c], in f32; one value per channel, the channel being the last dimension.
class Normalize {
public:
    Normalize(std::vector<double> mean, std::vector<double> std);
    Tensor operator()(const Tensor &image) const;

private:
    std::vector<float> mean_, std_;
};

// [h,w,c] -> [c,h,w].
struct HWC2CHW {
    Tensor operator()(const Tensor &image) const;
};

// [h,w,c] -> [c,h,w], and x / 255, in f32, then as `output_type`: pixels of u8 come to lie from 0
// to 1.
struct ToTensor {
    explicit ToTensor(DType output_type = DType::f32) : dtype(output_type) {}
    Tensor operator()(const Tensor &image) const;
    DType dtype;
};

// The middle `size` x `size` pixels; a smaller image gets a border of zeros.
class CenterCrop {
public:
    explicit CenterCrop(int64_t size) : CenterCrop(std::pair{size, size}) {}
    explicit CenterCrop(std::pair<int64_t, int64_t> height_width);
    Tensor operator()(const Tensor &image) const;

private:
    int64_t height_, width_;
};

}  // namespace vision

namespace transforms {

struct TypeCast {
    explicit TypeCast(DType to) : dtype(to) {}
    Tensor operator()(const Tensor &t) const { return t.to(dtype); }
    DType dtype;
};

// Whole numbers [...] to f32 [...,num_classes]: 1 at the number, 0 elsewhere; smoothed: 1 - r + r /
// num_classes and r / num_classes. AttrError for a number below 0 or past the classes.
class OneHot {
public:
    explicit OneHot(int64_t num_classes, double smoothing_rate = 0);
    Tensor operator()(const Tensor &labels) const;

private:
    int64_t classes_;
    double rate_;
};

}  // namespace transforms
}  // namespace halyard::dataset
