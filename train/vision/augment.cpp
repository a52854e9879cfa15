#include "train/vision/augment.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "train/vision/image_checks.h"

namespace halyard::dataset {

Fill::Fill(int red, int green, int blue) {
    const int values[] = {red, green, blue};
    for (int c = 0; c < 3; c++) {
        if (values[c] < 0 || values[c] > 255) {
            throw AttrError("fill_value",
                            "is " + std::to_string(values[c]) + ", expected 0 to 255");
        }
        rgb[c] = uint8_t(values[c]);
    }
}

namespace vision {
namespace {

Tensor cut(const Tensor &image, int64_t top, int64_t left, int64_t height, int64_t width) {
    return image.slice(0, top, top + height).slice(1, left, left + width).contiguous();
}

// Returns the source of pixel i of an axis, or -1 for a constant pixel.
int64_t mirrored(int64_t i, int64_t n, Border mode) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case Border::CONSTANT: return -1;
    case Border::EDGE: return i < 0 ? 0 : n - 1;
    case Border::REFLECT: return i < 0 ? -i : 2 * n - 2 - i;
    case Border::SYMMETRIC: return i < 0 ? -i - 1 : 2 * n - 1 - i;
    }
    return -1;
}

void check_padding(const char *op, const Padding &p) {
    for (const int64_t side : {p.left, p.top, p.right, p.bottom}) {
        if (side < 0)
            throw AttrError(op, "padding is " + std::to_string(side) + ", expected at least 0");
    }
}

// Throws ShapeError if the image has too few pixels along dimension d to fill `padding` more.
void check_mirrored(const Tensor &image, int d, const char *pixels, int64_t padding, Border mode) {
    const int64_t limit = mode == Border::REFLECT     ? image.size(d) - 1
                          : mode == Border::SYMMETRIC ? image.size(d)
                                                      : INT32_MAX;
    if (padding <= limit) return;
    throw ShapeError("Pad", "an image of " + image.shape().text() + " can't be padded by " +
                                std::to_string(padding) + " " + pixels + ", at most by " +
                                std::to_string(limit));
}

void check_range(const char *op, const char *what, const Range &r, double least) {
    if (!(r.low >= least && r.low <= r.high && std::isfinite(r.high))) {
        throw AttrError(op, std::string(what) + " is " + std::to_string(r.low) + " to " +
                                std::to_string(r.high) + ", expected a range from at least " +
                                std::to_string(least));
    }
}

}  // namespace

Tensor HorizontalFlip::operator()(const Tensor &image) const {
    check_image("HorizontalFlip", image);
    const Tensor in = image.contiguous();
    const Tensor out = Tensor::empty(in.shape(), in.dtype());
    const size_t pixel = size_t(in.size(2)) * bytes_of(in.dtype());
    const size_t row = size_t(in.size(1)) * pixel;
    const char *p = static_cast<const char *>(in.raw());
    char *q = static_cast<char *>(out.raw());
    // With a constant size for the usual pixels the copy compiles to two instructions.
    const auto flip = [&](auto bytes) {
        for (int64_t y = 0; y < in.size(0); y++, p += row) {
            for (const char *from = p + row; from != p; q += bytes) {
                from -= bytes;
                std::memcpy(q, from, bytes);
            }
        }
    };
    if (pixel == 0 || row == 0) return out;
    if (pixel == 3)
        flip(std::integral_constant<size_t, 3>());
    else
        flip(pixel);
    return out;
}

Tensor VerticalFlip::operator()(const Tensor &image) const {
    check_image("VerticalFlip", image);
    const Tensor in = image.contiguous();
    const Tensor out = Tensor::empty(in.shape(), in.dtype());
    const size_t row = size_t(in.size(1) * in.size(2)) * bytes_of(in.dtype());
    const auto h = size_t(in.size(0));
    for (size_t y = 0; y < h; y++) {
        std::memcpy(static_cast<char *>(out.raw()) + y * row,
                    static_cast<const char *>(in.raw()) + (h - 1 - y) * row, row);
    }
    return out;
}

RandomHorizontalFlip::RandomHorizontalFlip(double prob) : prob_(prob) {
    check_probability("RandomHorizontalFlip", prob);
}
RandomVerticalFlip::RandomVerticalFlip(double prob) : prob_(prob) {
    check_probability("RandomVerticalFlip", prob);
}

Crop::Crop(std::pair<int64_t, int64_t> coordinates, std::pair<int64_t, int64_t> size)
    : top_(coordinates.first), left_(coordinates.second), height_(size.first), width_(size.second) {
    check_size("Crop", height_, width_);
    if (top_ < 0 || left_ < 0) {
        throw AttrError("Crop", "coordinates are " + std::to_string(top_) + ", " +
                                    std::to_string(left_) + ", expected at least 0");
    }
}

Tensor Crop::operator()(const Tensor &image) const {
    check_image("Crop", image);
    if (top_ + height_ > image.size(0) || left_ + width_ > image.size(1)) {
        throw ShapeError("Crop", "ends at " + std::to_string(top_ + height_) + ", " +
                                     std::to_string(left_ + width_) + ", the image is " +
                                     image.shape().text());
    }
    return cut(image, top_, left_, height_, width_);
}

Pad::Pad(Padding padding, Fill fill_value, Border padding_mode)
    : padding_(padding), fill_(fill_value), mode_(padding_mode) {
    check_padding("Pad", padding);
}

Tensor Pad::operator()(const Tensor &image) const {
    check_u8_image("Pad", image);
    const int64_t h = image.size(0), w = image.size(1), c = image.size(2);
    const Padding &p = padding_;
    if (c < 1 || c > 3) {
        throw ShapeError("Pad", "an image of " + image.shape().text() + " has " +
                                    std::to_string(c) + " channels, expected 1 to 3");
    }
    check_mirrored(image, 0, "rows", std::max(p.top, p.bottom), mode_);
    check_mirrored(image, 1, "columns", std::max(p.left, p.right), mode_);
    const Tensor in = image.contiguous();
    const Tensor out = Tensor::empty({h + p.top + p.bottom, w + p.left + p.right, c}, DType::u8);
    const uint8_t *from = in.data<uint8_t>();
    uint8_t *q = out.data<uint8_t>();
    const auto copy = [&](int64_t row, int64_t x) {
        const int64_t column = row < 0 ? -1 : mirrored(x, w, mode_);
        std::copy_n(column < 0 ? fill_.rgb : from + (row * w + column) * c, c, q);
        q += c;
    };
    for (int64_t y = -p.top; y < h + p.bottom; y++) {
        const int64_t row = mirrored(y, h, mode_);
        for (int64_t x = -p.left; x < 0; x++)
            copy(row, x);
        if (row >= 0)
            q = std::copy_n(from + row * w * c, w * c, q);
        else {
            for (int64_t x = 0; x < w; x++)
                copy(row, x);
        }
        for (int64_t x = w; x < w + p.right; x++)
            copy(row, x);
    }
    return out;
}

RandomCrop::RandomCrop(std::pair<int64_t, int64_t> size, Padding padding, bool pad_if_needed,
                       Fill fill_value, Border padding_mode)
    : height_(size.first), width_(size.second), padding_(padding), if_needed_(pad_if_needed),
      fill_(fill_value), mode_(padding_mode) {
    check_size("RandomCrop", height_, width_);
    check_padding("RandomCrop", padding);
}

// With pad_if_needed, each of two opposite sides gets all that the image lacks, so the rectangle
// may begin anywhere in the image, as in MindSpore.
Padding RandomCrop::padding_of(const Tensor &image) const {
    Padding p = padding_;
    if (!if_needed_) return p;
    const int64_t rows = image.size(0) + p.top + p.bottom;
    const int64_t columns = image.size(1) + p.left + p.right;
    const int64_t missing_rows = std::max<int64_t>(height_ - rows, 0);
    const int64_t missing_columns = std::max<int64_t>(width_ - columns, 0);
    p.top += missing_rows;
    p.bottom += missing_rows;
    p.left += missing_columns;
    p.right += missing_columns;
    return p;
}

Tensor RandomCrop::operator()(const Tensor &image, Draw &draw) const {
    check_image("RandomCrop", image);
    const Padding p = padding_of(image);
    const bool is_padded = p.left || p.top || p.right || p.bottom;
    const Tensor whole = is_padded ? Pad(p, fill_, mode_)(image) : image;
    if (whole.size(0) < height_ || whole.size(1) < width_) {
        throw ShapeError("RandomCrop", "size is " + std::to_string(height_) + " x " +
                                           std::to_string(width_) + ", the padded image " +
                                           whole.shape().text());
    }
    const int64_t top = draw.below(whole.size(0) - height_ + 1);
    const int64_t left = draw.below(whole.size(1) - width_ + 1);
    return cut(whole, top, left, height_, width_);
}

RandomBox::RandomBox(const char *op, Range scale, Range ratio) : scale_(scale), ratio_(ratio) {
    check_range(op, "scale", scale, 0);
    check_range(op, "ratio", ratio, 1e-6);
}

// The algorithm of MindSpore and torchvision.
Box RandomBox::operator()(int64_t h, int64_t w, Draw &draw) const {
    constexpr int attempts = 10;
    for (int i = 0; i < attempts; i++) {
        const double area = double(h) * double(w) * draw.uniform(scale_.low, scale_.high);
        const double aspect = std::exp(draw.uniform(std::log(ratio_.low), std::log(ratio_.high)));
        const int64_t width = std::max<int64_t>(std::llround(std::sqrt(area * aspect)), 1);
        const int64_t height = std::max<int64_t>(std::llround(double(width) / aspect), 1);
        if (width > w || height > h) continue;
        const int64_t left = draw.below(w - width + 1);
        const int64_t top = draw.below(h - height + 1);
        return {top, left, height, width};
    }
    const double aspect = double(w) / double(h);
    int64_t width = w;
    int64_t height = h;
    if (aspect < ratio_.low)
        height = std::clamp<int64_t>(std::llround(double(w) / ratio_.low), 1, h);
    else if (aspect > ratio_.high)
        width = std::clamp<int64_t>(std::llround(double(h) * ratio_.high), 1, w);
    return {(h - height + 1) / 2, (w - width + 1) / 2, height, width};
}

RandomResizedCrop::RandomResizedCrop(std::pair<int64_t, int64_t> size, Range scale, Range ratio,
                                     Inter interpolation)
    : box_("RandomResizedCrop", scale, ratio), resize_(size, interpolation) {}

Tensor RandomResizedCrop::operator()(const Tensor &image, Draw &draw) const {
    check_image("RandomResizedCrop", image);
    if (image.size(0) < 1 || image.size(1) < 1) {
        throw ShapeError("RandomResizedCrop",
                         "image is " + image.shape().text() + ", expected at least one pixel");
    }
    const Box b = box_(image.size(0), image.size(1), draw);
    return resize_(cut(image, b.top, b.left, b.height, b.width));
}

RandomCropDecodeResize::RandomCropDecodeResize(std::pair<int64_t, int64_t> size, Range scale,
                                               Range ratio, Inter interpolation, int64_t max_pixels)
    : box_("RandomCropDecodeResize", scale, ratio), resize_(size, interpolation),
      max_pixels_(max_pixels) {}

Tensor RandomCropDecodeResize::operator()(const Tensor &bytes, Draw &draw) const {
    const auto choose = [&](int64_t h, int64_t w) { return box_(h, w, draw); };
    return resize_(decode_part(bytes, "RandomCropDecodeResize", choose, max_pixels_));
}

RandomRotation::RandomRotation(double degrees, const RotateOptions &options)
    : RandomRotation(Range{-degrees, degrees}, options) {}
RandomRotation::RandomRotation(Range degrees, const RotateOptions &options)
    : range_(degrees), options_(options) {
    check_range("RandomRotation", "degrees", degrees, -1e9);
}

}  // namespace vision
}  // namespace halyard::dataset
