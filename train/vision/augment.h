// Operations for Dataset::map that move the pixels of an image [h,w,c], with MindSpore's names and
// arguments. Those called Random draw random numbers. They take any dtype unless the comment names
// u8. Constructors throw AttrError, calls ShapeError and DTypeError.
#pragma once
#include <optional>

#include "train/vision/draw.h"
#include "train/vision/image.h"
#include "train/vision/vision.h"

namespace halyard::dataset {

// The pixels beyond an image's edge: one colour (CONSTANT), or for the row a b c d
//   EDGE       a a | a b c d | d d
//   REFLECT    c b | a b c d | c b
//   SYMMETRIC  b a | a b c d | d c
enum class Border { CONSTANT, EDGE, REFLECT, SYMMETRIC };

struct Fill {
    Fill(int grey = 0) : Fill(grey, grey, grey) {}
    Fill(int red, int green, int blue);
    uint8_t rgb[3];
};

struct Range {
    Range(double from, double to) : low(from), high(to) {}
    double low, high;
};

namespace vision {

struct HorizontalFlip {
    Tensor operator()(const Tensor &image) const;
};
struct VerticalFlip {
    Tensor operator()(const Tensor &image) const;
};

class RandomHorizontalFlip {
public:
    explicit RandomHorizontalFlip(double prob = 0.5);
    Tensor operator()(const Tensor &image, Draw &draw) const {
        return draw.chance(prob_) ? HorizontalFlip()(image) : image;
    }

private:
    double prob_;
};
class RandomVerticalFlip {
public:
    explicit RandomVerticalFlip(double prob = 0.5);
    Tensor operator()(const Tensor &image, Draw &draw) const {
        return draw.chance(prob_) ? VerticalFlip()(image) : image;
    }

private:
    double prob_;
};

// Cuts out a rectangle of `size` = {height, width} at `coordinates` = {top, left}. It must lie
// within the image.
class Crop {
public:
    Crop(std::pair<int64_t, int64_t> coordinates, std::pair<int64_t, int64_t> size);
    Tensor operator()(const Tensor &image) const;

private:
    int64_t top_, left_, height_, width_;
};

struct Padding {
    explicit Padding(int64_t all) : Padding(all, all, all, all) {}
    Padding(int64_t l, int64_t t, int64_t r, int64_t b) : left(l), top(t), right(r), bottom(b) {}
    int64_t left, top, right, bottom;
};

// Pads images of u8. With REFLECT the padding of a side must be less than the image's size in that
// direction, with SYMMETRIC at most equal.
class Pad {
public:
    Pad(Padding padding, Fill fill_value = {}, Border padding_mode = Border::CONSTANT);
    Tensor operator()(const Tensor &image) const;

private:
    Padding padding_;
    Fill fill_;
    Border mode_;
};

// Pads (images of u8 only) and cuts out a rectangle at a random place. With pad_if_needed an image
// that lacks rows or columns gets as many on each side; otherwise it is a ShapeError.
class RandomCrop {
public:
    explicit RandomCrop(int64_t size, Padding padding = Padding(0), bool pad_if_needed = false,
                        Fill fill_value = {}, Border padding_mode = Border::CONSTANT)
        : RandomCrop(std::pair{size, size}, padding, pad_if_needed, fill_value, padding_mode) {}
    explicit RandomCrop(std::pair<int64_t, int64_t> height_width, Padding padding = Padding(0),
                        bool pad_if_needed = false, Fill fill_value = {},
                        Border padding_mode = Border::CONSTANT);
    Tensor operator()(const Tensor &image, Draw &draw) const;

private:
    Padding padding_of(const Tensor &image) const;

    int64_t height_, width_;
    Padding padding_;
    bool if_needed_;
    Fill fill_;
    Border mode_;
};

// Chooses a rectangle with a random area (a fraction of the image's within `scale`) and a random
// aspect (width / height, uniform in its logarithm) at a random place. If ten tries don't fit, it
// returns the image, or the largest central rectangle with the nearest aspect.
class RandomBox {
public:
    RandomBox(const char *op, Range scale, Range ratio);
    Box operator()(int64_t height, int64_t width, Draw &draw) const;

private:
    Range scale_, ratio_;
};

// Cuts out a RandomBox and resizes it.
class RandomResizedCrop {
public:
    explicit RandomResizedCrop(int64_t size, Range scale = {0.08, 1},
                               Range ratio = {3. / 4, 4. / 3}, Inter interpolation = Inter::LINEAR)
        : RandomResizedCrop(std::pair{size, size}, scale, ratio, interpolation) {}
    explicit RandomResizedCrop(std::pair<int64_t, int64_t> height_width, Range scale = {0.08, 1},
                               Range ratio = {3. / 4, 4. / 3}, Inter interpolation = Inter::LINEAR);
    Tensor operator()(const Tensor &image, Draw &draw) const;

private:
    RandomBox box_;
    Resize resize_;
};

// Does the same for a file's bytes u8[n] (train/vision/image.h). Only the rectangle of a JPEG is
// decoded, to the same pixels.
class RandomCropDecodeResize {
public:
    explicit RandomCropDecodeResize(int64_t size, Range scale = {0.08, 1},
                                    Range ratio = {3. / 4, 4. / 3},
                                    Inter interpolation = Inter::LINEAR,
                                    int64_t max_pixels = default_max_pixels)
        : RandomCropDecodeResize(std::pair{size, size}, scale, ratio, interpolation, max_pixels) {}
    explicit RandomCropDecodeResize(std::pair<int64_t, int64_t> height_width,
                                    Range scale = {0.08, 1}, Range ratio = {3. / 4, 4. / 3},
                                    Inter interpolation = Inter::LINEAR,
                                    int64_t max_pixels = default_max_pixels);
    Tensor operator()(const Tensor &bytes, Draw &draw) const;

private:
    RandomBox box_;
    Resize resize_;
    int64_t max_pixels_;
};

struct RotateOptions {
    Inter resample = Inter::NEAREST;
    bool expand = false;                                   // enlarges the result to hold the image
    std::optional<std::pair<double, double>> center = {};  // x, y; empty: the middle
    Fill fill_value = {};
};

// Rotates images of u8 counter-clockwise. The arithmetic is that of OpenCV's warpAffine:
// coordinates in 1/1024 of a pixel, LINEAR weights in 1/32.
class Rotate {
public:
    explicit Rotate(double degrees, const RotateOptions &options = {});
    Tensor operator()(const Tensor &image) const;

private:
    double degrees_;
    RotateOptions options_;
};

class RandomRotation {
public:
    // Draws from [-degrees, degrees].
    explicit RandomRotation(double degrees, const RotateOptions &options = {});
    explicit RandomRotation(Range degrees, const RotateOptions &options = {});
    Tensor operator()(const Tensor &image, Draw &draw) const {
        return Rotate(draw.uniform(range_.low, range_.high), options_)(image);
    }

private:
    Range range_;
    RotateOptions options_;
};

}  // namespace vision
}  // namespace halyard::dataset
