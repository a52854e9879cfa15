// Operations for Dataset::map on images [h,w,c], usually with c = 1 (grey) or 3. Constructors throw
// AttrError, calls ShapeError and DTypeError.
#pragma once
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::dataset {

enum class Inter { LINEAR, NEAREST };

namespace vision {

// Resizes to {height, width}. With one number the shorter side gets that size and the ratio stays.
//   LINEAR   bilinear with 11-bit weights, for u8 only; the bits are MindSpore's
//   NEAREST  takes the source pixel floor(i * scale), for any dtype
class Resize {
public:
    explicit Resize(int64_t shorter_side, Inter interpolation = Inter::LINEAR);
    Resize(std::pair<int64_t, int64_t> height_width, Inter interpolation = Inter::LINEAR);
    Tensor operator()(const Tensor &image) const;

private:
    int64_t height_, width_;  // if the width is 0, the height is that of the shorter side
    Inter interpolation_;
};

// Computes x * rescale + shift in f32.
struct Rescale {
    Rescale(double factor, double offset) : rescale(float(factor)), shift(float(offset)) {}
    Tensor operator()(const Tensor &image) const;
    float rescale, shift;
};

// Computes (x - mean[c]) / std[c] in f32, where c is the index in the last dimension.
class Normalize {
public:
    Normalize(std::vector<double> mean, std::vector<double> std);
    Tensor operator()(const Tensor &image) const;

private:
    std::vector<float> mean_, std_;
};

// Transposes [h,w,c] to [c,h,w].
struct HWC2CHW {
    Tensor operator()(const Tensor &image) const;
};

// Transposes [h,w,c] to [c,h,w] and divides by 255 in f32, so that u8 becomes [0, 1], then converts
// to `output_type`.
struct ToTensor {
    explicit ToTensor(DType output_type = DType::f32) : dtype(output_type) {}
    Tensor operator()(const Tensor &image) const;
    DType dtype;
};

// Cuts out the central rectangle. A smaller image gets a border of zeros.
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

// Maps integers [...] to f32 [...,num_classes]: 1 at the integer, 0 elsewhere. With a
// smoothing_rate r these are 1 - r + r / num_classes and r / num_classes. Throws AttrError for an
// integer outside [0, num_classes).
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
