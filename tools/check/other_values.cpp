#include "tools/check/other_values.h"

#include <cmath>

#include "tools/check/fills.h"

namespace halyard::check {
namespace {

void replace_nan(const Tensor &t, double by) {
    if (!is_float(t.dtype())) return;
    const Tensor flat = t.reshape({t.elements()});
    for (int64_t i = 0; i < t.elements(); i++)
        if (std::isnan(flat.at({i}))) flat.set({i}, by);
}

}  // namespace

Case with_values(const Op &op, const Case &c, bool bends, int seed) {
    std::vector<double> reals;
    for (auto &[name, value] : c.problem.reals)
        reals.push_back(value);
    Case other(op, c.sample, c.dtypes, seed);
    std::mt19937 rng(static_cast<uint32_t>(seed));
    for (size_t k = 0; k < other.in.size() && bends; k++) {
        // An input with a lower bound isn't defined everywhere.
        if (other.problem.dims.count(op.sig.inputs[k].name + "_least")) continue;
        fill_breakpoints(other.in[k], reals, rng);
        other.read_input(k);
    }
    other.fit_forward_outputs(op);
    other.solve(op);
    return other;
}

Case with_specials(const Op &op, const Case &c, int count, bool nan, int seed) {
    Case other(op, c.sample, c.dtypes, seed);
    std::mt19937 rng(static_cast<uint32_t>(seed));
    for (size_t k = 0; k < other.in.size(); k++) {
        sprinkle(other.in[k], count, rng);
        if (!nan) replace_nan(other.in[k], INFINITY);
        other.read_input(k);
    }
    other.fit_forward_outputs(op);
    other.solve(op);
    return other;
}

}  // namespace halyard::check
