// Rotate has the bits of OpenCV's warpAffine, which MindSpore calls.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "train/vision/augment.h"
#include "train/vision/image_checks.h"

namespace halyard::dataset::vision {
namespace {

constexpr int place_bits = 10;  // the fractional bits of a coordinate
constexpr int tap_bits = 5;     // those of them that select the weights
constexpr int taps = 1 << tap_bits;

// Maps a pixel of the result to its coordinates in the image: x' = m[0] x + m[1] y + m[2] and
// y' = m[3] x + m[4] y + m[5].
struct Inverse {
    double m[6];
};

Inverse inverse_of(double degrees, double cx, double cy, double dx, double dy) {
    const double angle = degrees * std::numbers::pi / 180;
    const double a = std::cos(angle);
    const double b = std::sin(angle);
    const double m2 = (1 - a) * cx - b * cy + dx;
    const double m5 = b * cx + (1 - a) * cy + dy;
    const double d = 1 / (a * a + b * b);
    Inverse r{{a * d, -b * d, 0, b * d, a * d, 0}};
    r.m[2] = -r.m[0] * m2 - r.m[1] * m5;
    r.m[5] = -r.m[3] * m2 - r.m[4] * m5;
    return r;
}

int64_t in_places(double v) {
    return std::llrint(v * (1 << place_bits));
}

struct Picture {
    const uint8_t *pixels;
    int64_t h, w, c;
    const uint8_t *fill;
    const uint8_t *at(int64_t x, int64_t y) const {
        return x >= 0 && x < w && y >= 0 && y < h ? pixels + (y * w + x) * c : fill;
    }
};

void linear(const Picture &p, int64_t x, int64_t y, uint8_t *out) {
    const int64_t fx = x & (taps - 1);
    const int64_t fy = y & (taps - 1);
    const int64_t ix = x >> tap_bits;
    const int64_t iy = y >> tap_bits;
    const uint8_t *corners[] = {p.at(ix, iy), p.at(ix + 1, iy), p.at(ix, iy + 1),
                                p.at(ix + 1, iy + 1)};
    const int64_t weights[] = {(taps - fx) * (taps - fy), fx * (taps - fy), (taps - fx) * fy,
                               fx * fy};
    for (int64_t c = 0; c < p.c; c++) {
        int64_t sum = taps * taps / 2;
        for (int k = 0; k < 4; k++)
            sum += weights[k] * corners[k][c];
        out[c] = uint8_t(sum >> 2 * tap_bits);
    }
}

}  // namespace

Rotate::Rotate(double degrees, const RotateOptions &options)
    : degrees_(degrees), options_(options) {
    if (!std::isfinite(degrees)) throw AttrError("Rotate", "degrees is not finite");
}

Tensor Rotate::operator()(const Tensor &image) const {
    check_u8_image("Rotate", image);
    const Tensor in = image.contiguous();
    const int64_t h = in.size(0), w = in.size(1), c = in.size(2);
    if (c < 1 || c > 3 || h < 1 || w < 1) {
        throw ShapeError("Rotate", "image is " + in.shape().text() +
                                       ", expected at least one pixel of 1 to 3 channels");
    }
    const auto [cx, cy] = options_.center.value_or(std::pair{double(w - 1) / 2, double(h - 1) / 2});
    int64_t height = h;
    int64_t width = w;
    double dx = 0, dy = 0;
    if (options_.expand) {
        const double angle = degrees_ * std::numbers::pi / 180;
        const double a = std::fabs(std::cos(angle));
        const double b = std::fabs(std::sin(angle));
        const double box_width = double(w) * a + double(h) * b;
        const double box_height = double(w) * b + double(h) * a;
        width = std::llrint(box_width);
        height = std::llrint(box_height);
        dx = box_width / 2 - double(w) / 2;
        dy = box_height / 2 - double(h) / 2;
    }
    const Inverse back = inverse_of(degrees_, cx, cy, dx, dy);
    const Tensor out = Tensor::empty({height, width, c}, DType::u8);
    const Picture picture{in.data<uint8_t>(), h, w, c, options_.fill_value.rgb};
    const bool nearest = options_.resample == Inter::NEAREST;
    const int shift = nearest ? place_bits : place_bits - tap_bits;
    const int64_t half = 1 << (shift - 1);
    uint8_t *q = out.data<uint8_t>();
    for (int64_t y = 0; y < height; y++) {
        const int64_t x0 = in_places(back.m[1] * double(y) + back.m[2]) + half;
        const int64_t y0 = in_places(back.m[4] * double(y) + back.m[5]) + half;
        for (int64_t x = 0; x < width; x++, q += c) {
            const int64_t px = (x0 + in_places(back.m[0] * double(x))) >> shift;
            const int64_t py = (y0 + in_places(back.m[3] * double(x))) >> shift;
            if (nearest)
                std::copy_n(picture.at(px, py), c, q);
            else
                linear(picture, px, py, q);
        }
    }
    return out;
}

}  // namespace halyard::dataset::vision
