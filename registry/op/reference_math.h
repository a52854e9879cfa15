// Mathematics that references of kernels and of composites share, in double.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "registry/op/problem.h"

namespace halyard {

// What may follow dense's product.
struct ActivationReference {
    const char *name;
    double (*value)(double x);
};
inline constexpr ActivationReference activations[] = {
    {"none", [](double x) { return x; }},
    {"relu", [](double x) { return std::isnan(x) ? x : std::max(x, 0.0); }},
    {"gelu", [](double x) { return x == -INFINITY ? 0 : 0.5 * x * std::erfc(-x * M_SQRT1_2); }},
    {"gelu_tanh",
     [](double x) {
         return x == -INFINITY
                    ? 0
                    : 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"silu", [](double x) { return x == -INFINITY ? 0 : x / (1 + std::exp(-x)); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", [](double x) { return std::tanh(x); }},
};
inline std::vector<std::string> activation_names() {
    std::vector<std::string> names;
    for (const ActivationReference &a : activations)
        names.emplace_back(a.name);
    return names;
}

// Returns v within the range of t, i8 or u8; 0 for NaN.
inline double saturated(double v, DType t) {
    return std::isnan(v)    ? 0
           : t == DType::u8 ? std::clamp(v, 0.0, 255.0)
                            : std::clamp(v, -128.0, 127.0);
}
// Returns round(x / scale) + zero_point in dtype t. The quotient is in f32, as kernels compute it:
// which way a tie rounds is part of the answer. The integers are exact.
inline double quantized(double x, double scale, double zero_point, DType t) {
    return saturated(std::nearbyint(double(float(x) / float(scale))) + zero_point, t);
}

// Scaled dot-product attention of tensors `queries`, `keys` and `values` of `p`: sets o, and `size`
// to the sums of its terms' sizes, infinite where a score overflows f32.
inline void attend(const Problem &p, const char *queries, const char *keys, const char *values,
                   bool causal, int64_t from, double scale,
                   const std::function<double(int64_t g, int64_t s, int64_t t)> &mask, Array &o,
                   Array &size) {
    const Array &q = p.tensors.at(queries);
    const Array &k = p.tensors.at(keys);
    const Array &v = p.tensors.at(values);
    o = size = Array({p["g"], p["s"], p["e"]});
    std::vector<double> weight(static_cast<size_t>(p["t"]));
    for (int64_t g = 0; g < p["g"]; g++) {
        for (int64_t s = 0; s < p["s"]; s++) {
            double most = -INFINITY;
            double total = 0, largest = 0;
            for (int64_t t = 0; t < p["t"]; t++) {
                double dot = 0;
                double &score = weight[size_t(t)];
                for (int64_t x = 0; x < p["d"]; x++) {
                    dot += q(g, s, x) * k(g, t, x);
                    largest = std::fmax(largest, std::fabs(q(g, s, x) * k(g, t, x) * scale));
                }
                score = causal && t > s + from ? -INFINITY : dot * scale + mask(g, s, t);
                most = std::isnan(most) || std::isnan(score) ? NAN : std::max(most, score);
            }
            for (double &w : weight)
                total += w = std::exp(w - (most == -INFINITY ? 0 : most));
            for (double &w : weight)
                w = total == 0 ? 0 : w / total;
            for (int64_t x = 0; x < p["e"]; x++) {
                for (int64_t t = 0; t < p["t"]; t++) {
                    const double term = weight[size_t(t)] * v(g, t, x);
                    o(g, s, x) += term;
                    size(g, s, x) += std::fabs(term);
                }
                if (largest > 1e37) size(g, s, x) = INFINITY;
            }
        }
    }
}

}  // namespace halyard
