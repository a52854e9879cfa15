#include "tools/check/cancellation.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <random>
#include <set>

namespace halyard::check {
namespace {

constexpr int trials = 16;
constexpr double roundings = 8;          // a kernel rounds more often than each input once
constexpr size_t max_elements = 400000;  // of all tensors: the reference runs `trials` times

// Returns the problem with every real number moved by one rounding, up or down.
Problem rounded_otherwise(const Op &op, const Problem &p, double rounding, std::mt19937 &rng) {
    Problem moved = p;
    for (auto &t : op.sig.inputs) {
        if (!is_float(t.dtype == "T"              ? p.dtype
                      : is_type_variable(t.dtype) ? DType::i32
                                                  : dtype_of(t.dtype)))
            continue;
        for (double &v : moved.tensors.at(t.name).v)
            v *= 1 + (rng() & 1 ? rounding : -rounding);
    }
    for (auto &t : op.sig.outputs)
        std::fill(moved.tensors.at(t.name).v.begin(), moved.tensors.at(t.name).v.end(), 0.0);
    moved.abs_sum.clear();
    op.reference(moved);
    return moved;
}

double arithmetic_eps(DType t) {  // 16-bit floats compute in f32
    return t == DType::f64 ? 0x1p-52 : 0x1p-23;
}

// Returns by how much one rounding of each input moves each element of an output; nothing if that
// would take too long.
std::vector<double> moves_of(const Op &op, const std::string &output, DType dtype,
                             const Problem &expected) {
    size_t elements = 0;
    for (auto &[name, a] : expected.tensors)
        elements += a.v.size();
    if (elements > max_elements) return {};
    // The reference is in double, where 1 + eps / 2 is 1.
    const double eps = arithmetic_eps(dtype);
    const double rounding = dtype == DType::f64 ? eps : 0.5 * eps;
    const Array &want = expected.tensors.at(output);
    std::mt19937 rng(31);
    std::vector<double> moves(want.v.size(), 0);
    for (int trial = 0; trial < trials; trial++) {
        const Problem moved = rounded_otherwise(op, expected, rounding, rng);
        const Array &other = moved.tensors.at(output);
        for (size_t i = 0; i < moves.size(); i++)
            moves[i] = std::max(moves[i], std::fabs(other.v[i] - want.v[i]));
    }
    return moves;
}

// Returns the magnitudes that the op's contract measures the errors of an output against.
std::vector<double> sizes_of(const Op &op, const std::string &output, const Problem &expected) {
    const Array &want = expected.tensors.at(output);
    const auto abs_sum = expected.abs_sum.find(output);
    if (op.contract.measure == Contract::products && abs_sum != expected.abs_sum.end())
        return abs_sum->second.v;
    double largest = 0;
    std::vector<double> sizes;
    for (const double w : want.v) {
        sizes.push_back(std::fabs(w));
        if (std::isfinite(w)) largest = std::max(largest, std::fabs(w));
    }
    if (op.contract.measure != Contract::elementwise)
        std::fill(sizes.begin(), sizes.end(), largest);
    return sizes;
}

}  // namespace

bool is_contraction(const Op &op) {
    std::set<std::string> kept;
    for (const TensorSpec &t : op.sig.outputs)
        kept.insert(t.extents.begin(), t.extents.end());
    const auto is_lost = [&](const std::string &extent) {
        return std::isalpha((unsigned char)extent[0]) && !kept.count(extent);
    };
    return std::ranges::any_of(op.sig.inputs, [&](const TensorSpec &t) {
        return std::ranges::any_of(t.extents, is_lost);
    });
}

std::string compare_conditioned(const Op &op, const std::string &output, const Tensor &got,
                                const Problem &expected) {
    const std::string error = compare(op, output, got, expected, Magnitudes::any);
    if (error.empty() || !is_float(got.dtype()) ||
        !(got.shape() == expected.tensors.at(output).shape))
        return error;
    const std::vector<double> moves = moves_of(op, output, got.dtype(), expected);
    if (moves.empty()) return "";
    std::vector<double> sizes = sizes_of(op, output, expected);
    for (size_t i = 0; i < sizes.size(); i++)
        sizes[i] += roundings * moves[i] / arithmetic_eps(got.dtype());
    OpRecord record = op;
    record.contract.measure = Contract::products;
    Problem conditioned;
    conditioned.tensors[output] = expected.tensors.at(output);
    conditioned.abs_sum[output] = expected.tensors.at(output);
    conditioned.abs_sum[output].v = std::move(sizes);
    return compare(record, output, got, conditioned, Magnitudes::any);
}

std::string cancellation(const Op &op, const std::string &output, const Tensor &got,
                         const Problem &expected) {
    const Array &want = expected.tensors.at(output);
    if (op.contract.measure == Contract::products || !is_float(got.dtype()) ||
        !(got.shape() == want.shape))
        return "";
    const std::vector<double> moves = moves_of(op, output, got.dtype(), expected);
    if (moves.empty()) return "";
    const double eps = arithmetic_eps(got.dtype());
    const double stored = got.dtype() == DType::f16    ? 0x1p-11
                          : got.dtype() == DType::bf16 ? 0x1p-8
                                                       : 0;
    const std::vector<double> values = got.to_vector<double>();
    double worst = 0;  // error over bound
    size_t at = 0;
    for (size_t i = 0; i < values.size(); i++) {
        const double w = want.v[i];
        const double error = std::fabs(values[i] - w);
        if (std::isnan(values[i]) != std::isnan(w)) return "";
        const double bound = op.contract.ulps * eps * std::fabs(w) + 1.01 * stored * std::fabs(w);
        if (!(error > bound)) continue;
        if (!(error <= roundings * op.contract.ulps * moves[i])) return "";
        if (error <= worst * bound) continue;
        worst = bound > 0 ? error / bound : INFINITY;
        at = i;
    }
    if (worst == 0) return "";
    const double times = std::fabs(values[at] - want.v[at]) / moves[at];
    char text[600];
    std::snprintf(text, sizeof text,
                  "\n      hint: terms cancel here: one rounding of each input moves %s[%zu], "
                  "which is %.3g, by %.2g, and the error is %.1f times that."
                  "\n      Count errors against the terms: contract = {Contract::products, ulps} "
                  "with p.abs_sum[\"%s\"] = the sum of their absolute values,"
                  "\n      or .abs_sum of a formula",
                  output.c_str(), at, want.v[at], moves[at], times, output.c_str());
    return text;
}

}  // namespace halyard::check
