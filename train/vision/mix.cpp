#include "train/vision/mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "registry/base/error.h"
#include "train/vision/image_checks.h"

namespace halyard::dataset::vision {
namespace {

void check_alpha(const char *op, double alpha) {
    if (!(alpha > 0 && alpha < 1e6))
        throw AttrError(op, "alpha is " + std::to_string(alpha) + ", expected more than 0");
}

// The batch: images, and labels as a new f32 tensor.
struct Batch {
    Tensor images, labels;
    std::vector<int64_t> others;  // the row that each row is mixed with
};

Batch batch_of(const char *op, const Tensors &columns, Draw &draw) {
    if (columns.size() != 2) {
        throw ShapeError(op, "got " + std::to_string(columns.size()) +
                                 " columns, expected images and labels");
    }
    const Tensor &images = columns[0];
    const Tensor &labels = columns[1];
    if (images.rank() != 4) {
        throw ShapeError(op,
                         "images are " + images.shape().text() + ", expected a batch of rank 4");
    }
    if (images.dtype() != DType::u8 && images.dtype() != DType::f32) {
        throw DTypeError(op, std::string("images are ") + name_of(images.dtype()) +
                                 ", expected u8 or f32");
    }
    if (labels.rank() < 2 || labels.size(0) != images.size(0)) {
        throw ShapeError(op, "labels are " + labels.shape().text() + ", expected [" +
                                 std::to_string(images.size(0)) + ",classes]");
    }
    Batch b{images.contiguous(), labels.to(DType::f32).copy(), {}};
    b.others.resize(size_t(images.size(0)));
    std::iota(b.others.begin(), b.others.end(), int64_t(0));
    for (size_t i = b.others.size(); i > 1; i--)
        std::swap(b.others[i - 1], b.others[size_t(draw.below(int64_t(i)))]);
    return b;
}

// Returns a copy of `from`.
void mix_labels(const Tensor &from, const Tensor &to, int64_t row, int64_t other, float own) {
    const int64_t n = from.elements() / from.size(0);
    const float *a = from.data<float>() + row * n;
    const float *b = from.data<float>() + other * n;
    float *out = to.data<float>() + row * n;
    for (int64_t i = 0; i < n; i++)
        out[i] = own * a[i] + (1 - own) * b[i];
}

template<class T>
void mix_images(const Tensor &from, const Tensor &to, int64_t row, int64_t other, float own) {
    const int64_t n = from.elements() / from.size(0);
    const T *a = from.data<T>() + row * n;
    const T *b = from.data<T>() + other * n;
    T *out = to.data<T>() + row * n;
    for (int64_t i = 0; i < n; i++) {
        const float v = own * float(a[i]) + (1 - own) * float(b[i]);
        if constexpr (std::is_same_v<T, uint8_t>)
            out[i] = uint8_t(std::clamp(std::lrintf(v), 0l, 255l));
        else
            out[i] = v;
    }
}

}  // namespace

MixUpBatch::MixUpBatch(double alpha) : alpha_(alpha) {
    check_alpha("MixUpBatch", alpha);
}

Tensors MixUpBatch::operator()(const Tensors &columns, Draw &draw) const {
    const auto own = float(draw.beta(alpha_, alpha_));
    const Batch b = batch_of("MixUpBatch", columns, draw);
    const Tensor images = Tensor::empty(b.images.shape(), b.images.dtype());
    const Tensor labels = Tensor::empty(b.labels.shape());
    for (int64_t i = 0; i < images.size(0); i++) {
        const int64_t other = b.others[size_t(i)];
        if (images.dtype() == DType::u8)
            mix_images<uint8_t>(b.images, images, i, other, own);
        else
            mix_images<float>(b.images, images, i, other, own);
        mix_labels(b.labels, labels, i, other, own);
    }
    return {images, labels};
}

CutMixBatch::CutMixBatch(ImageBatchFormat image_batch_format, double alpha, double prob)
    : format_(image_batch_format), alpha_(alpha), prob_(prob) {
    check_alpha("CutMixBatch", alpha);
    check_probability("CutMixBatch", prob);
}

Tensors CutMixBatch::operator()(const Tensors &columns, Draw &draw) const {
    const Batch b = batch_of("CutMixBatch", columns, draw);
    const bool channels_last = format_ == ImageBatchFormat::NHWC;
    const Tensor images = b.images.copy();
    const Tensor labels = b.labels.copy();
    const int64_t h = images.size(channels_last ? 1 : 2);
    const int64_t w = images.size(channels_last ? 2 : 3);
    // Rows of pixels are copied per channel (NCHW) or for all channels at once (NHWC).
    const int64_t planes = channels_last ? 1 : images.size(1);
    const int64_t pixel = (channels_last ? images.size(3) : 1) * int64_t(bytes_of(images.dtype()));
    for (int64_t i = 0; i < images.size(0) && h > 0 && w > 0; i++) {
        const double cut = 1 - draw.beta(alpha_, alpha_);
        if (!draw.chance(prob_)) continue;
        const int64_t half_w = int64_t(double(w) * cut) / 2;
        const int64_t half_h = int64_t(double(h) * cut) / 2;
        const int64_t x = draw.below(w + 1);
        const int64_t y = draw.below(h + 1);
        const int64_t left = std::clamp<int64_t>(x - half_w, 0, w - 1);
        const int64_t top = std::clamp<int64_t>(y - half_h, 0, h - 1);
        const int64_t width = std::max<int64_t>(std::min(x + half_w, w - 1) - left, 1);
        const int64_t height = std::max<int64_t>(std::min(y + half_h, h - 1) - top, 1);
        const int64_t other = b.others[size_t(i)];
        for (int64_t p = 0; p < planes; p++) {
            for (int64_t row = top; row < top + height; row++) {
                const auto at = [&](int64_t image) {
                    return size_t((((image * planes + p) * h + row) * w + left) * pixel);
                };
                std::memcpy(static_cast<char *>(images.raw()) + at(i),
                            static_cast<const char *>(b.images.raw()) + at(other),
                            size_t(width * pixel));
            }
        }
        mix_labels(b.labels, labels, i, other, float(1 - double(width * height) / double(w * h)));
    }
    return {images, labels};
}

}  // namespace halyard::dataset::vision
