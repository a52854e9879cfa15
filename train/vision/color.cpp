#include "train/vision/color.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "train/vision/image_checks.h"

namespace halyard::dataset::vision {
namespace {

uint8_t rounded(float v) {
    return uint8_t(std::clamp(std::lrintf(v), 0l, 255l));
}

// The grey value with the 15-bit weights of BT.601.
uint8_t grey(const uint8_t *p) {
    return uint8_t((9798 * p[0] + 19235 * p[1] + 3735 * p[2] + (1 << 14)) >> 15);
}

double checked(const char *op, double factor) {
    if (!(factor >= 0 && factor <= 1e6))
        throw AttrError(op, "the factor is " + std::to_string(factor) + ", expected at least 0");
    return factor;
}

// Converts 8-bit RGB to hue, saturation and value with 256 steps each.
std::array<int, 3> hsv(int r, int g, int b) {
    constexpr int shift = 12;
    constexpr int half = 1 << (shift - 1);
    const int v = std::max({r, g, b});
    const int diff = v - std::min({r, g, b});
    const auto per = [](int numerator, double steps) {
        return steps > 0 ? int(std::lrint((numerator << shift) / steps)) : 0;
    };
    const int s = (diff * per(255, v) + half) >> shift;
    int h = v == r ? g - b : v == g ? b - r + 2 * diff : r - g + 4 * diff;
    h = (h * per(256, 6.0 * diff) + half) >> shift;
    return {h < 0 ? h + 256 : h, s, v};
}

// Converts back. As in OpenCV the hue has 255 steps here.
void rgb(int hue, int saturation, int value, uint8_t *out) {
    const float s = float(saturation) * (1 / 255.f);
    const float v = float(value) * (1 / 255.f);
    float h = float(hue) * (6 / 255.f);
    int sector = int(std::floor(h));
    h -= float(sector);
    if (sector >= 6) {
        sector = 0;
        h = 0;
    }
    const float tab[] = {v, v * (1 - s), v * (1 - s * h), v * (1 - s * (1 - h))};
    constexpr int which[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
    for (int c = 0; c < 3; c++)
        out[c] = rounded(tab[which[sector][c]] * 255);
}

template<class F> Tensor pixelwise(const char *op, const Tensor &image, const F &f) {
    check_rgb(op, image);
    const Tensor in = image.contiguous();
    const Tensor out = Tensor::empty(in.shape(), DType::u8);
    const uint8_t *p = in.data<uint8_t>();
    uint8_t *q = out.data<uint8_t>();
    for (int64_t n = in.elements() / 3; n > 0; n--, p += 3, q += 3)
        f(p, q);
    return out;
}

}  // namespace

AdjustBrightness::AdjustBrightness(double factor) : factor_(checked("AdjustBrightness", factor)) {}

Tensor AdjustBrightness::operator()(const Tensor &image) const {
    std::array<uint8_t, 256> table;
    for (int v = 0; v < 256; v++)
        table[size_t(v)] = rounded(float(v) * float(factor_));
    return pixelwise("AdjustBrightness", image, [&](const uint8_t *p, uint8_t *q) {
        for (int c = 0; c < 3; c++)
            q[c] = table[p[c]];
    });
}

AdjustContrast::AdjustContrast(double factor) : factor_(checked("AdjustContrast", factor)) {}

Tensor AdjustContrast::operator()(const Tensor &image) const {
    check_rgb("AdjustContrast", image);
    const Tensor in = image.contiguous();
    int64_t sum = 0;
    const int64_t n = in.elements() / 3;
    for (int64_t i = 0; i < n; i++)
        sum += grey(in.data<uint8_t>() + 3 * i);
    const float mean = n ? float(int(double(sum) / double(n) + 0.5)) : 0;
    const float f = float(factor_);
    const float rest = float(1 - factor_);
    std::array<uint8_t, 256> table;
    for (int v = 0; v < 256; v++)
        table[size_t(v)] = rounded(mean * rest + float(v) * f);
    return pixelwise("AdjustContrast", in, [&](const uint8_t *p, uint8_t *q) {
        for (int c = 0; c < 3; c++)
            q[c] = table[p[c]];
    });
}

AdjustSaturation::AdjustSaturation(double factor) : factor_(checked("AdjustSaturation", factor)) {}

Tensor AdjustSaturation::operator()(const Tensor &image) const {
    const float f = float(factor_);
    const float rest = float(1 - factor_);
    return pixelwise("AdjustSaturation", image, [&](const uint8_t *p, uint8_t *q) {
        const float g = float(grey(p)) * rest;
        for (int c = 0; c < 3; c++)
            q[c] = rounded(g + float(p[c]) * f);
    });
}

AdjustHue::AdjustHue(double factor) : factor_(factor) {
    if (!(factor >= -0.5 && factor <= 0.5)) {
        throw AttrError("AdjustHue",
                        "hue_factor is " + std::to_string(factor) + ", expected -0.5 to 0.5");
    }
}

Tensor AdjustHue::operator()(const Tensor &image) const {
    const int step = int(float(factor_) * 255);
    return pixelwise("AdjustHue", image, [&](const uint8_t *p, uint8_t *q) {
        const auto [h, s, v] = hsv(p[0], p[1], p[2]);
        rgb((h + step) & 255, s, v, q);
    });
}

RandomColorAdjust::RandomColorAdjust(const ColorAdjustOptions &o)
    : ranges_{{1, 1}, {1, 1}, {1, 1}, {0, 0}} {
    const char *names[] = {"brightness", "contrast", "saturation", "hue"};
    const FactorRange *all[] = {&o.brightness, &o.contrast, &o.saturation, &o.hue};
    for (size_t i = 0; i < 4; i++) {
        const double middle = i == 3 ? 0 : 1;
        const double least = i == 3 ? -0.5 : 0;
        const double most = i == 3 ? 0.5 : 1e6;
        const double v = all[i]->plus_minus;
        ranges_[i] = all[i]->range.value_or(
            Range(i == 3 ? -v : std::max(middle - v, least), middle + v));
        const Range &r = ranges_[i];
        if (!(v >= 0 && r.low >= least && r.low <= r.high && r.high <= most)) {
            throw AttrError("RandomColorAdjust",
                            std::string(names[i]) + " is " + std::to_string(r.low) + " to " +
                                std::to_string(r.high) + ", expected a range within " +
                                std::to_string(least) + " to " + std::to_string(most));
        }
    }
}

Tensor RandomColorAdjust::operator()(const Tensor &image, Draw &draw) const {
    check_rgb("RandomColorAdjust", image);
    int order[] = {0, 1, 2, 3};
    for (int i = 3; i > 0; i--)
        std::swap(order[i], order[draw.below(i + 1)]);
    Tensor t = image;
    for (const int which : order) {
        const Range &r = ranges_[which];
        if (r.low == r.high && r.low == (which == 3 ? 0 : 1)) continue;
        const double factor = draw.uniform(r.low, r.high);
        if (which == 0)
            t = AdjustBrightness(factor)(t);
        else if (which == 1)
            t = AdjustContrast(factor)(t);
        else if (which == 2)
            t = AdjustSaturation(factor)(t);
        else
            t = AdjustHue(factor)(t);
    }
    return t;
}

}  // namespace halyard::dataset::vision
