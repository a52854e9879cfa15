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

using AttentionMask = std::function<double(int64_t g, int64_t s, int64_t t)>;

// Returns the score of query s and key t. Raises `largest` to the absolute value of
// its largest term.
inline double score_of(const Array &q, const Array &k, int64_t g, int64_t s, int64_t t,
                       double scale, double &largest) {
    double dot = 0;
    for (int64_t x = 0; x < q.shape[2]; x++) {
        dot += q(g, s, x) * k(g, t, x);
        largest = std::fmax(largest, std::fabs(q(g, s, x) * k(g, t, x) * scale));
    }
    return dot * scale;
}

// Replaces the scores of a query by their softmax. Every weight is 0 if the query
// attends to no key.
inline void softmax_in_place(std::vector<double> &weight) {
    double row_max = -INFINITY;
    double total = 0;
    for (double score : weight)
        row_max = std::isnan(row_max) || std::isnan(score) ? NAN : std::max(row_max, score);
    for (double &w : weight) {
        w = std::exp(w - (row_max == -INFINITY ? 0 : row_max));
        total += w;
    }
    for (double &w : weight)
        w = total == 0 ? 0 : w / total;
}

// The reference of attention. Computes o, and in `abs_sum` the sum of the absolute values of its
// terms, which is infinite if a score's terms overflow f32. `from` is the index of the first query
// for `causal`.
inline void attend(const Problem &p, const char *queries, const char *keys, const char *values,
                   bool causal, int64_t from, double scale, const AttentionMask &mask, Array &o,
                   Array &abs_sum) {
    const Array &q = p.tensors.at(queries);
    const Array &k = p.tensors.at(keys);
    const Array &v = p.tensors.at(values);
    o = abs_sum = Array({p["g"], p["s"], p["e"]});
    std::vector<double> weight(static_cast<size_t>(p["t"]));
    for (int64_t g = 0; g < p["g"]; g++) {
        for (int64_t s = 0; s < p["s"]; s++) {
            double largest = 0;
            for (int64_t t = 0; t < p["t"]; t++) {
                const double score = score_of(q, k, g, s, t, scale, largest);
                weight[static_cast<size_t>(t)] = causal && t > s + from ? -INFINITY
                                                                        : score + mask(g, s, t);
            }
            softmax_in_place(weight);
            for (int64_t x = 0; x < p["e"]; x++) {
                for (int64_t t = 0; t < p["t"]; t++) {
                    const double term = weight[static_cast<size_t>(t)] * v(g, t, x);
                    o(g, s, x) += term;
                    abs_sum(g, s, x) += std::fabs(term);
                }
                if (largest > 1e37) abs_sum(g, s, x) = INFINITY;
            }
        }
    }
}

}  // namespace halyard
