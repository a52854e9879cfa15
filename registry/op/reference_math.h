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

// The score of a query and a key, and the sum of the absolute values of its terms.
struct AttentionScore {
    double value = 0, abs_sum = 0;
};
inline AttentionScore score_of(const Array &q, const Array &k, int64_t g, int64_t s, int64_t t,
                               double scale) {
    AttentionScore score;
    for (int64_t x = 0; x < q.shape[2]; x++) {
        const double term = q(g, s, x) * k(g, t, x) * scale;
        score.value += term;
        score.abs_sum += std::fabs(term);
    }
    return score;
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

// Errors of a weight are at least as large as those of this one: a kernel may take e^x for 0 where
// f32 would be subnormal, below 2^-126, and 16 ulps (the contract's) of 2^-107 are 2^-126.
constexpr double least_weight = 0x1p-107;

// Computes row s of o from the weights of its keys, and in `abs_sum` the sum of w(t) (|v(t)| +
// score_sum(t) |v(t) - o|), where score_sum has the terms of the scores.
inline void mix_values(const Array &v, int64_t g, int64_t s, const std::vector<double> &weight,
                       const std::vector<double> &score_sum, Array &o, Array &abs_sum) {
    const auto keys = static_cast<int64_t>(weight.size());
    for (int64_t x = 0; x < o.shape[2]; x++) {
        for (int64_t t = 0; t < keys; t++)
            o(g, s, x) += weight[static_cast<size_t>(t)] * v(g, t, x);
        for (int64_t t = 0; t < keys; t++) {
            const double w = weight[static_cast<size_t>(t)];
            if (w == 0) continue;  // of a hidden key, whose score is -infinity
            const double of_score = score_sum[static_cast<size_t>(t)];
            const double change = std::fabs(v(g, t, x) - o(g, s, x));
            abs_sum(g, s, x) += std::fmax(w, least_weight) * std::fabs(v(g, t, x)) +
                                w * of_score * change;
        }
    }
}

// The reference of attention. Computes o, and in `abs_sum` what its errors are measured against: an
// error d of score t changes o by w(t) (v(t) - o) d, where w(t) is the key's weight. d is an error
// of the score's terms, and of its difference from the largest score. Beyond these, o has the terms
// w(t) v(t). abs_sum is infinite if a score's terms overflow f32. `from` is the index of the first
// query for `causal`.
inline void attend(const Problem &p, const char *queries, const char *keys, const char *values,
                   bool causal, int64_t from, double scale, const AttentionMask &mask, Array &o,
                   Array &abs_sum) {
    const Array &q = p.tensors.at(queries);
    const Array &k = p.tensors.at(keys);
    const Array &v = p.tensors.at(values);
    o = abs_sum = Array({p["g"], p["s"], p["e"]});
    std::vector<double> weight(static_cast<size_t>(p["t"]));
    std::vector<double> score_sum(weight.size());
    for (int64_t g = 0; g < p["g"]; g++) {
        for (int64_t s = 0; s < p["s"]; s++) {
            double largest = 0;
            double row_max = -INFINITY;
            for (size_t t = 0; t < weight.size(); t++) {
                const auto key = static_cast<int64_t>(t);
                const AttentionScore score = score_of(q, k, g, s, key, scale);
                const double bias = mask(g, s, key);
                weight[t] = causal && key > s + from ? -INFINITY : score.value + bias;
                score_sum[t] = score.abs_sum + std::fabs(bias) + std::fabs(weight[t]);
                largest = std::fmax(largest, score.abs_sum);
                row_max = std::fmax(row_max, weight[t]);
            }
            for (double &terms : score_sum)
                terms += std::fabs(row_max);
            softmax_in_place(weight);
            mix_values(v, g, s, weight, score_sum, o, abs_sum);
            for (int64_t x = 0; x < p["e"] && largest > 1e37; x++)
                abs_sum(g, s, x) = INFINITY;
        }
    }
}

}  // namespace halyard
