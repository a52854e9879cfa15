#include "tools/check/other_values.h"

#include "tools/check/fills.h"

namespace halyard::check {

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

}  // namespace halyard::check
