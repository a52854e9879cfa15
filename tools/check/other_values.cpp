#include "tools/check/other_values.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/check/fills.h"

namespace halyard::check {
namespace {

void replace_nan(const Tensor &t, double by) {
    if (!is_float(t.dtype())) return;
    const Tensor flat = t.reshape({t.elements()});
    for (int64_t i = 0; i < t.elements(); i++)
        if (std::isnan(flat.at({i}))) flat.set({i}, by);
}

// An input with a lower bound isn't defined everywhere.
bool has_least(const Op &op, const Case &c, size_t input) {
    return c.problem.dims.count(op.sig.inputs[input].name + "_least") != 0;
}

// Returns the sample's call with fill(call, k, rng) applied to each input, and its results.
template<class Fill> Case refilled(const Op &op, const Case &c, int seed, const Fill &fill) {
    Case other(op, c.sample, c.dtypes, seed);
    std::mt19937 rng(static_cast<uint32_t>(seed));
    for (size_t k = 0; k < other.in.size(); k++) {
        fill(other, k, rng);
        other.read_input(k);
    }
    other.fit_forward_outputs(op);
    other.solve(op);
    return other;
}

}  // namespace

int64_t input_elements(const Case &c) {
    int64_t elements = 0;
    for (const Tensor &t : c.in)
        elements += t.defined() ? t.elements() : 0;
    return elements;
}

Case with_values(const Op &op, const Case &c, bool bends, int seed) {
    std::vector<double> reals;
    for (auto &[name, value] : c.problem.reals)
        reals.push_back(value);
    return refilled(op, c, seed, [&](Case &other, size_t k, std::mt19937 &rng) {
        if (bends && !has_least(op, other, k)) fill_breakpoints(other.in[k], reals, rng);
    });
}

Case with_specials(const Op &op, const Case &c, int count, bool nan, int seed) {
    return refilled(op, c, seed, [&](Case &other, size_t k, std::mt19937 &rng) {
        sprinkle(other.in[k], count, rng);
        if (!nan) replace_nan(other.in[k], INFINITY);
    });
}

Case with_magnitudes(const Op &op, const Case &c, int seed) {
    return refilled(op, c, seed, [&](Case &other, size_t k, std::mt19937 &rng) {
        if (!has_least(op, other, k)) fill_magnitudes(other.in[k], false, rng);
    });
}

std::vector<std::string> with_other_reals(const Op &op, const std::string &sample) {
    const Sample own = parse_sample(op, sample);
    std::set<std::string> all;
    for (auto &text : op.samples) {
        Sample other = own;
        for (auto &[name, value] : parse_sample(op, text).attrs) {
            const auto attr = std::ranges::find(op.attrs, name, &AttrSpec::name);
            if (attr != op.attrs.end() && attr->kind == AttrKind::real) other.attrs[name] = value;
        }
        if (other.attrs != own.attrs) all.insert(text_of(other));
    }
    return {all.begin(), all.end()};
}

}  // namespace halyard::check
