// Checks where NaN, Inf and numbers that overflow between end up.
#include "tools/check/specials.h"

#include <algorithm>
#include <cmath>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/dispatch/force.h"

namespace halyard::check {
namespace {

// Checks NaN and Inf in the results for c's inputs, which were changed. Exact elementwise ops must
// have all values exact, subnormal ones too.
void expect_specials(const Op &op, Case &c, const std::vector<KernelPlace> &places,
                     const std::string &what, Report &r, bool finite_stays = false) {
    for (size_t k = 0; k < c.in.size(); k++)
        c.read_input(k);
    c.fit_forward_outputs(op);
    c.solve(op);
    for (const KernelPlace &place : places) {
        const Force force(place.isa, "", place.backend);
        begin_step(what + " " + kernel_text(c) + " '" + c.sample + "'");
        const auto out = dispatch(c.registered, c.in, c.attrs);
        for (size_t k = 0; k < out.size(); k++) {
            const std::string &name = op.sig.outputs[k].name;
            const Tensor got = c.as_in_signature(op.sig.outputs[k], out[k]);
            const std::string error = is_exact(op)
                                          ? compare(op, name, got, c.problem)
                                          : compare_specials(name, got, c.problem, finite_stays);
            r.expect(what + " " + c.dtypes + "/" + place.name + " '" + c.sample + "'", error);
        }
    }
}

// Writes NaN, Inf and other special values to elements 1, 5, 13, ... of each float input.
void put_specials(const std::vector<Tensor> &in) {
    for (const Tensor &t : in) {
        if (!is_float(t.dtype()) || t.elements() == 0) continue;
        const double large = t.dtype() == DType::f16 ? 6e4 : 3e38;
        const double specials[] = {NAN, INFINITY, -INFINITY, 0., -0., 1e-40, large, -large};
        const int64_t n = t.elements();
        const Tensor flat = t.reshape({n});
        for (int64_t i = 0, at = 1; at < n || i == 0; i++, at = at * 2 + 3)
            flat.set({std::min(at, n - 1)}, specials[i % 8]);
    }
}

// Returns what an input isn't less than: 0 for a mean of squares, of which a root is taken.
double least_of(const Case &c, const std::string &input) {
    const auto found = c.problem.dims.find(input + "_least");
    return found != c.problem.dims.end() && found->second >= 0 ? double(found->second) : -INFINITY;
}

// Adds shift(i) to element i of each float input, as far as the input may be less.
template<class Shift> void shift_inputs(const Op &op, const Case &c, Shift shift) {
    for (size_t k = 0; k < c.in.size(); k++) {
        const Tensor &t = c.in[k];
        if (!is_float(t.dtype())) continue;
        const double least = least_of(c, op.sig.inputs[k].name);
        std::vector<double> values = t.to_vector<double>();
        for (size_t i = 0; i < values.size(); i++)
            values[i] = std::max(values[i] + shift(int64_t(i)), least);
        Array shifted(t.shape());
        shifted.v = std::move(values);
        t.assign(tensor_of(shifted, t.dtype()));
    }
}

}  // namespace

bool is_exact(const Op &op) {
    return op.form == Form::elementwise && op.contract.measure == Contract::elementwise &&
           op.contract.ulps == 0;
}

void check_specials_at(const std::vector<KernelPlace> &places, const Op &op,
                       const std::string &dtypes, Report &r) {
    if (!is_float(dtypes_of(dtypes)[0])) return;
    for (auto &sample : op.samples) {
        Case c(op, sample, dtypes, 4);
        put_specials(c.in);
        expect_specials(op, c, places, "specials", r);
        // A sum or a max that starts at a finite number overflows here, or none of its terms
        // remains.
        for (double shift : {-1000., 1000.}) {
            Case far(op, sample, dtypes, 4);
            shift_inputs(op, far, [&](int64_t) { return shift; });
            expect_specials(op, far, places, "values around " + std::to_string(int(shift)), r);
        }
        // A maximum that misses the largest element, of which there are many or one, leaves values
        // that overflow.
        for (int64_t period : {5, 1009}) {
            Case spread(op, sample, dtypes, 4);
            shift_inputs(op, spread, [&](int64_t i) { return i % period == 2 ? 1000. : -1000.; });
            expect_specials(op, spread, places, "values far apart", r, true);
        }
    }
}

void check_specials(const Op &op, const Options &o, Report &r) {
    std::vector<KernelPlace> places;
    for (Isa isa : isas_of(op, o))
        places.push_back({name_of(isa), isa, "cpu"});
    check_specials_at(places, op, o.dtypes.empty() ? op.dtypes[0] : o.dtypes, r);
}

}  // namespace halyard::check
