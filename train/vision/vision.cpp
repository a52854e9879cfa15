#include "train/vision/vision.h"

#include <algorithm>
#include <cmath>

#include "registry/base/error.h"
#include "train/vision/image_checks.h"
#include "train/vision/resize.h"

namespace halyard::dataset::vision {
namespace {

Tensor resize_nearest(const Tensor &in, int64_t height, int64_t width) {
    const Tensor image = in.contiguous();
    const Tensor out = Tensor::empty({height, width, in.size(2)}, in.dtype());
    const size_t pixel = size_t(in.size(2)) * bytes_of(in.dtype());
    const auto source = [](int64_t i, int64_t from, int64_t to) {
        return std::min(int64_t(std::floor(double(i) * (double(from) / double(to)))), from - 1);
    };
    char *q = static_cast<char *>(out.raw());
    for (int64_t y = 0; y < height; y++) {
        const char *row = static_cast<const char *>(image.raw()) +
                          size_t(source(y, in.size(0), height) * in.size(1)) * pixel;
        for (int64_t x = 0; x < width; x++, q += pixel)
            std::copy_n(row + size_t(source(x, in.size(1), width)) * pixel, pixel, q);
    }
    return out;
}

}  // namespace

Resize::Resize(int64_t shorter_side, Inter interpolation)
    : height_(shorter_side), width_(0), interpolation_(interpolation) {
    check_size("Resize", shorter_side, shorter_side);
}

Resize::Resize(std::pair<int64_t, int64_t> size, Inter interpolation)
    : height_(size.first), width_(size.second), interpolation_(interpolation) {
    check_size("Resize", height_, width_);
}

Tensor Resize::operator()(const Tensor &image) const {
    check_image("Resize", image);
    int64_t h = height_;
    int64_t w = width_;
    if (image.size(0) < 1 || image.size(1) < 1) {
        throw ShapeError("Resize",
                         "image is " + image.shape().text() + ", expected at least one pixel");
    }
    if (w == 0) {
        const int64_t shorter = height_;
        const int64_t ih = image.size(0), iw = image.size(1);
        h = ih < iw ? shorter : shorter * ih / iw;
        w = ih < iw ? shorter * iw / ih : shorter;
    }
    if (h == image.size(0) && w == image.size(1)) return image;
    return interpolation_ == Inter::LINEAR ? resize_linear(image, h, w)
                                           : resize_nearest(image, h, w);
}

Tensor Rescale::operator()(const Tensor &image) const {
    const Tensor out = image.dtype() == DType::f32 ? image.copy() : image.to(DType::f32);
    float *p = out.data<float>();
    for (int64_t i = 0, n = out.elements(); i < n; i++)
        p[i] = p[i] * rescale + shift;
    return out;
}

Normalize::Normalize(std::vector<double> mean, std::vector<double> std)
    : mean_(mean.begin(), mean.end()), std_(std.begin(), std.end()) {
    if (mean.empty() || mean.size() != std.size()) {
        throw AttrError("Normalize", "mean has " + std::to_string(mean.size()) +
                                         " values and std " + std::to_string(std.size()) +
                                         ", expected one per channel");
    }
    for (const double s : std) {
        if (!(s > 0))
            throw AttrError("Normalize", "std is " + std::to_string(s) + ", expected more than 0");
    }
}

Tensor Normalize::operator()(const Tensor &image) const {
    check_image("Normalize", image);
    const size_t channels = mean_.size();
    if (size_t(image.size(2)) != channels) {
        throw ShapeError("Normalize", "c is " + std::to_string(image.size(2)) + ", expected " +
                                          std::to_string(channels));
    }
    const Tensor out = image.dtype() == DType::f32 ? image.copy() : image.to(DType::f32);
    float *p = out.data<float>();
    for (int64_t i = 0, n = out.elements(); i < n; i += int64_t(channels)) {
        for (size_t c = 0; c < channels; c++)
            p[size_t(i) + c] = (p[size_t(i) + c] - mean_[c]) / std_[c];
    }
    return out;
}

Tensor HWC2CHW::operator()(const Tensor &image) const {
    check_image("HWC2CHW", image);
    return image.transpose({2, 0, 1}).contiguous();
}

Tensor ToTensor::operator()(const Tensor &image) const {
    check_image("ToTensor", image);
    const Tensor out = image.transpose({2, 0, 1}).contiguous().to(DType::f32);
    float *p = out.data<float>();
    for (int64_t i = 0, n = out.elements(); i < n; i++)
        p[i] /= 255;
    return dtype == DType::f32 ? out : out.to(dtype);
}

CenterCrop::CenterCrop(std::pair<int64_t, int64_t> size)
    : height_(size.first), width_(size.second) {
    check_size("CenterCrop", height_, width_);
}

Tensor CenterCrop::operator()(const Tensor &image) const {
    check_image("CenterCrop", image);
    const int64_t h = image.size(0), w = image.size(1);
    const int64_t top = std::abs(h - height_) / 2;
    const int64_t left = std::abs(w - width_) / 2;
    Tensor in = image;
    Tensor out = Tensor::zeros({height_, width_, image.size(2)}, image.dtype());
    Tensor to = out;
    if (h >= height_)
        in = in.slice(0, top, top + height_);
    else
        to = to.slice(0, top, top + h);
    if (w >= width_)
        in = in.slice(1, left, left + width_);
    else
        to = to.slice(1, left, left + w);
    to.assign(in);
    return out;
}

}  // namespace halyard::dataset::vision

namespace halyard::dataset::transforms {

OneHot::OneHot(int64_t num_classes, double smoothing_rate)
    : classes_(num_classes), rate_(smoothing_rate) {
    if (num_classes < 1) {
        throw AttrError("OneHot",
                        "num_classes is " + std::to_string(num_classes) + ", expected at least 1");
    }
    if (!(smoothing_rate >= 0 && smoothing_rate <= 1)) {
        throw AttrError("OneHot", "smoothing_rate is " + std::to_string(smoothing_rate) +
                                      ", expected 0 to 1");
    }
}

Tensor OneHot::operator()(const Tensor &labels) const {
    const std::vector<int64_t> values = labels.to_vector<int64_t>();
    Shape shape = labels.shape();
    shape.push_back(classes_);
    const Tensor out = Tensor::full(shape, rate_ / double(classes_));
    float *p = out.data<float>();
    for (const int64_t v : values) {
        if (v < 0 || v >= classes_) {
            throw AttrError("OneHot", "label is " + std::to_string(v) + ", expected 0 to " +
                                          std::to_string(classes_ - 1));
        }
        p[v] = float(1 - rate_ + rate_ / double(classes_));
        p += classes_;
    }
    return out;
}

}  // namespace halyard::dataset::transforms
