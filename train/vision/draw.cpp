#include "train/vision/draw.h"

#include <cmath>

#include "registry/base/error.h"

namespace halyard::dataset {

uint32_t Draw::word() {
    if (drawn_ >> 18) throw AttrError("draw", "a row draws more than 2^18 numbers in one step");
    if (drawn_ % 4 == 0) words_ = stream_.block(row_, drawn_ / 4);
    return words_[drawn_++ % 4];
}

double Draw::uniform() {
    return halyard::uniform(word());
}

// Uses Lemire's method, as Random::below() does.
int64_t Draw::below(int64_t n) {
    const auto bound = uint32_t(n);
    for (;;) {
        const uint64_t product = uint64_t(word()) * bound;
        const auto low = uint32_t(product);
        if (low >= bound || low >= (0u - bound) % bound) return int64_t(product >> 32);
    }
}

double Draw::normal() {
    const uint32_t a = word(), b = word();
    return normal_pair(a, b)[0];
}

double Draw::gamma(double shape) {
    if (shape < 1) {
        const double u = (double(word()) + 0.5) * 0x1p-32;
        return gamma(shape + 1) * std::pow(u, 1 / shape);
    }
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (;;) {
        const double x = normal();
        const double v = std::pow(1 + c * x, 3);
        if (v <= 0) continue;
        const double u = (double(word()) + 0.5) * 0x1p-32;
        if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
}

// For parameters near 0 both variates may underflow. Then the result is 0 or 1.
double Draw::beta(double a, double b) {
    const double x = gamma(a);
    const double y = gamma(b);
    return x + y > 0 ? x / (x + y) : (chance(a / (a + b)) ? 1.0 : 0.0);
}

}  // namespace halyard::dataset
