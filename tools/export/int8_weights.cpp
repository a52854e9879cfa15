#include "tools/export/int8_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "registry/base/error.h"

namespace halyard::exporting {
namespace {

constexpr int64_t most_of_sum = std::numeric_limits<int32_t>::max();

// A channel whose weights are much smaller than the others' would have a multiplier of few bits: a
// scale is at least this part of the largest.
constexpr double least_part_of_scale = 1.0 / 32768;
// A bias is at most this many units of its sum, so that the sum has room.
constexpr double most_of_bias = 1 << 29;

// Returns the weights of channel `o`.
std::span<const float> channel_of(const Tensor &weight, int64_t o) {
    const int64_t taps = weight.elements() / weight.shape()[0];
    return {static_cast<const float *>(weight.raw()) + o * taps, size_t(taps)};
}

double largest_of(std::span<const float> weights) {
    double largest = 0;
    for (const float w : weights)
        largest = std::max(largest, std::abs(double(w)));
    return largest;
}

// Returns the scale of each channel's weights.
std::vector<double> weight_scales(const Tensor &weight, const std::vector<double> &bias,
                                  double x_scale) {
    const double whole = largest_of(
        {static_cast<const float *>(weight.raw()), size_t(weight.elements())});
    const double least = whole > 0 ? whole / 127 * least_part_of_scale : 1;
    std::vector<double> scales;
    for (size_t o = 0; o < bias.size(); o++) {
        const double of_weights = largest_of(channel_of(weight, int64_t(o))) / 127;
        const double of_bias = std::abs(bias[o]) / (x_scale * most_of_bias);
        scales.push_back(std::max({of_weights, of_bias, least}));
    }
    return scales;
}

// Throws Error if a sum of the channel, with or without x's zero in its bias, could overflow.
void check_sums(const Int8Step &step, std::span<const int8_t> weights, int32_t bias, int32_t zero) {
    int64_t size = 0, sum = 0;
    for (const int8_t w : weights) {
        size += std::abs(int64_t(w));
        sum += w;
    }
    const int64_t farthest = std::max(127 - zero, zero + 128);
    const int64_t exact = size * farthest + std::abs(int64_t(bias));
    const int64_t in_bias = size * 128 + std::abs(bias - zero * sum);
    if (std::max(exact, in_bias) <= most_of_sum) return;
    throw Error(step.name, "in " + step.part + ": sums of " + std::to_string(weights.size()) +
                               " products can be " + std::to_string(std::max(exact, in_bias)) +
                               ", expected at most " + std::to_string(most_of_sum) + " (--int8)");
}

int32_t clamped(double q) {
    return int32_t(std::clamp(q, -128.0, 127.0));
}

}  // namespace

Int8Tensor int8_tensor(const Shape &shape, const Range &range) {
    Int8Tensor t{shape};
    const auto scale = float((double(range.high) - double(range.low)) / 255);
    // Denormal scales have no reciprocal in f32.
    t.scale = scale >= std::numeric_limits<float>::min() ? scale : 1;
    t.zero = clamped(std::round(-128 - double(range.low) / double(t.scale)));
    return t;
}

Factors quantize_weights(Int8Step &step, const Tensor &weight, const std::vector<double> &bias,
                         const Int8Tensor &x, const Int8Tensor &y) {
    Convolution &c = step.convolution;
    const std::vector<double> scales = weight_scales(weight, bias, x.scale);
    Factors factors;
    for (size_t o = 0; o < bias.size(); o++) {
        const size_t begin = c.weight.size();
        for (const float w : channel_of(weight, int64_t(o)))
            c.weight.push_back(int8_t(std::round(double(w) / scales[o])));
        c.bias.push_back(int32_t(std::round(bias[o] / (double(x.scale) * scales[o]))));
        check_sums(step, std::span(c.weight).subspan(begin), c.bias.back(), x.zero);
        factors.of_sum.push_back(double(x.scale) * scales[o] / double(y.scale));
    }
    return factors;
}

Requantize requantize(const std::string &op, const Factors &factors, const Int8Tensor &y,
                      double low, double high) {
    Requantize r;
    const double largest = std::max(*std::ranges::max_element(factors.of_sum), factors.of_z);
    const int exponent = std::ilogb(largest);
    if (exponent >= 30)
        throw Error(op, "a unit of its sums is " + std::to_string(largest) +
                            " units of its result, expected less than 2^30 (--int8)");
    r.shift = std::min(30 - exponent, 62);
    const auto multiplier = [&](double factor) {
        const double m = std::round(std::ldexp(factor, r.shift));
        return int32_t(std::clamp(m, 1.0, double(most_of_sum)));
    };
    for (const double factor : factors.of_sum)
        r.multiplier.push_back(multiplier(factor));
    if (factors.of_z > 0) r.multiplier_of_z = multiplier(factors.of_z);
    r.zero = y.zero;
    r.low = clamped(y.zero + std::round(low / double(y.scale)));
    r.high = clamped(y.zero + std::round(high / double(y.scale)));
    return r;
}

}  // namespace halyard::exporting
