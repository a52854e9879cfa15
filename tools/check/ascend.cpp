// Checks the simulated Ascend device against the references. `halyard check --device ascend` runs
// it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/simulated.h"
#include "tools/check/check.h"
#include "tools/check/fills.h"
#include "tools/check/other_values.h"
#include "tools/check/specials.h"
#include "tools/check/ulps.h"

namespace halyard::check {
namespace {

constexpr size_t quick_samples = 4;         // of each dtype, the first that are small enough
constexpr int64_t quick_elements = 20'000;  // of all inputs of one of them
// How often samples of few elements are run, with other values: so often that these are as many
// elements.
struct Repetition {
    int64_t elements, most_runs;
};
constexpr int64_t small_program = 512;  // of all inputs: a program of a few instructions
constexpr Repetition usual_repetition = {512, 12};
constexpr Repetition one_sample_repetition = {4096, 200};  // if it is the only sample

Plan planned(const Case &c) {
    const std::vector<OperandMeta> metas = metas_of(c.in);
    return make_plan(c.registered, metas, c.attrs);
}

constexpr const char *infinities = ", infinities";

// Returns the result with NaN where the reference has it: the chip's maximum and minimum drop NaN
// (docs/ascend.md), which arises from infinities.
Tensor or_nan(const Tensor &y, const Array &expected) {
    if (!is_float(y.dtype())) return y;
    Array all = array_of(y);
    for (size_t i = 0; i < all.v.size(); i++)
        if (std::isnan(expected.v[i])) all.v[i] = NAN;
    return tensor_of(all, y.dtype());
}

// Returns whether inputs may be NaN, which the chip's maximum and minimum drop: what is NaN can be
// asked.
bool has_nan(const Case &c) {
    return c.out_dtypes[0] == DType::boolean;
}

// Returns how many of an input's elements are special: most, if there are few.
int specials_of(int64_t elements) {
    constexpr int64_t least = 16, share = 4;
    return int(std::max(least, elements / share));
}

// Returns the call's results, in memory that is filled alike.
std::vector<Tensor> results_of(const Case &c) {
    std::vector<Tensor> out;
    for (size_t k = 0; k < c.out_dtypes.size(); k++) {
        const Shape shape = c.output_shape(k);
        out.push_back(poisoned(shape.elements(), c.out_dtypes[k]).reshape(shape));
    }
    dispatch_into(c.registered, c.in, c.attrs, out);
    return out;
}

bool have_same_bits(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
    return std::ranges::equal(a, b, [](const Tensor &x, const Tensor &y) {
        return std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
    });
}

// Returns how output k violates the contract for its inputs, which `special` says contain
// infinities; "" if it doesn't.
std::string error_of(const Op &op, const Case &c, size_t k, const Tensor &result, bool special) {
    const std::string &name = op.sig.outputs[k].name;
    const Tensor y = c.as_in_signature(op.sig.outputs[k], result);
    if (!special || is_exact(op)) return compare(op, name, y, c.problem);
    return compare_specials(name, or_nan(y, c.problem.tensors.at(name)), c.problem);
}

// A call whose values show what the usual ones may not.
struct OtherCall {
    Case of;
    bool is_usual = true;     // its values are those of samples, or numbers where the op bends
    bool is_special = false;  // they contain infinities
};

// Returns how the faulty results violate the contract; "" if they don't, or if the right ones do
// too. Where the right ones of many magnitudes do, it matters only which results are NaN.
std::string only_faulty_is_wrong(const Op &op, const OtherCall &call,
                                 const std::vector<Tensor> &right,
                                 const std::vector<Tensor> &faulty) {
    const auto first_error = [&](const std::vector<Tensor> &results, bool special) {
        for (size_t k = 0; k < results.size(); k++) {
            std::string error = error_of(op, call.of, k, results[k], special);
            if (!error.empty()) return error;
        }
        return std::string();
    };
    const auto only_faulty = [&](bool special) {
        return first_error(right, special).empty() ? first_error(faulty, special) : "";
    };
    const std::string error = only_faulty(call.is_special);
    return error.empty() && !call.is_usual ? only_faulty(true) : error;
}

// Returns the results with NaN wherever the contract allows everything.
std::vector<Tensor> or_nan(const Op &op, const Case &c, const std::vector<Tensor> &results) {
    std::vector<Tensor> all;
    for (size_t k = 0; k < results.size(); k++) {
        const TensorSpec &spec = op.sig.outputs[k];
        const Array &expected = c.problem.tensors.at(spec.name);
        all.push_back(or_nan(c.as_in_signature(spec, results[k]), expected));
    }
    return all;
}

std::vector<Case> cases_with_other_reals(const Op &op, const Case &c) {
    std::vector<Case> all;
    for (const std::string &sample : with_other_reals(op, c.sample))
        all.emplace_back(op, sample, c.dtypes, 6);
    return all;
}

// Returns a different call of the sample for each n: with random values and with numbers where the
// op bends, a quarter of them with infinities, with the real attributes of other samples, and with
// many magnitudes.
OtherCall other_call(const Op &op, const Case &first, const std::vector<Case> &others, int n) {
    constexpr int specials = 16;
    const int seed = n / 2;
    const bool bends = n % 2 == 1;
    switch (seed % 4) {
    case 1: return {with_specials(op, first, specials, has_nan(first), n), false, true};
    case 3: return {with_magnitudes(op, first, n), false};
    default: break;
    }
    const bool other_reals = seed % 4 == 2 && !others.empty();
    const Case &c = other_reals ? others[size_t(seed / 4) % others.size()] : first;
    return {with_values(op, c, bends, seed)};
}

void run_variant(const Op &op, const Case &c, const std::string &variant, Report &r,
                 const std::string &values = "") {
    const Force force(host_isa(), variant, "ascend");
    const std::string where = "ascend " + c.dtypes + (variant.empty() ? "" : " " + variant) + " '" +
                              c.sample + "'" + values;
    begin_step(where);
    try {
        const std::vector<Tensor> out = results_of(c);
        for (size_t k = 0; k < out.size(); k++)
            r.expect(where, error_of(op, c, k, out[k], values == infinities));
    } catch (const Error &e) {
        r.fail(where, e.what());
    }
}

void run_variants(const Op &op, Case &c, const std::vector<std::string> &variants,
                  const Repetition &repetition, Report &r) {
    c.solve(op);
    for (auto &variant : variants)
        run_variant(op, c, variant, r);
    const int64_t elements = input_elements(c);
    if (elements > quick_elements) return;
    const auto run = [&](bool bends, int seed, const std::string &what) {
        const Case other = with_values(op, c, bends, seed);
        for (auto &variant : variants)
            run_variant(op, other, variant, r, what);
    };
    for (const int seed : {1, 2})
        run(true, seed, ", numbers where it bends");
    const Case special = with_specials(op, c, specials_of(elements), has_nan(c), 3);
    for (auto &variant : variants)
        run_variant(op, special, variant, r, infinities);
    // Formulas of several numbers may cancel, and a few of many random ones do.
    const bool cancels = op.form == Form::elementwise && !has_ulps(op);
    const int64_t most = cancels ? usual_repetition.most_runs : repetition.most_runs;
    const auto times = int(
        std::clamp<int64_t>(repetition.elements / std::max<int64_t>(elements, 1), 0, most));
    for (int seed = 11; seed < 11 + times; seed++)
        run(false, seed, ", values " + std::to_string(seed));
}

// Checks a sample. Returns false, with a note in the report, if the device has no program for the
// call.
bool check_sample(const Op &op, Case &c, Report &r) {
    std::vector<std::string> handwritten;
    {
        const Force force(host_isa(), "", "ascend");
        const Plan plan = planned(c);
        const std::string refusal = plan.simulated || !plan.kernel
                                        ? ""
                                        : simulated_device().rejection(plan, c.dtypes);
        if (!refusal.empty()) {  // "" also for a call with an empty tensor, which runs on the CPU
            r.skip(c.dtypes + ": " + refusal);
            return false;
        }
        if (plan.simulated) handwritten = simulated_device().handwritten(plan, c.dtypes);
    }
    handwritten.insert(handwritten.begin(), "");
    run_variants(op, c, handwritten, usual_repetition, r);
    return true;
}

// Returns the CPU's error for the call, or "" if it accepts it.
std::string cpu_refusal(const Case &c) {
    try {
        const Force force(host_isa(), "");
        dispatch(c.registered, c.in, c.attrs);
    } catch (const Error &e) {
        return e.what();
    }
    return "";
}

// Checks a sample with each dimension 0: the result is the reference's, or the error the CPU's.
void check_empty(const Op &op, const std::string &sample, const std::string &dtypes, Report &r) {
    std::unique_ptr<Case> c;
    try {
        c = std::make_unique<Case>(op, sample, dtypes, 3);
    } catch (const Error &) {
        return;
    }  // its shape rule rejects it on every device
    const std::string where = "ascend '" + sample + "'";
    const std::string refused = cpu_refusal(*c);
    if (refused.empty()) {
        c->solve(op);
        // The plan's device runs it: there is no program for a call without elements.
        run_variant(op, *c, "", r);
        return;
    }
    try {
        const Force force(host_isa(), "", "ascend");
        dispatch(c->registered, c->in, c->attrs);
        r.fail(where, "computed, the CPU's error is " + refused);
    } catch (const Error &e) {
        r.expect(where, e.what() == refused
                            ? ""
                            : std::string(e.what()) + ", the CPU's error is " + refused);
    }
}

}  // namespace

std::vector<std::string> quick_samples_of(const Op &op, const std::string &dtypes) {
    std::vector<std::string> all;
    for (auto &sample : op.samples) {
        if (all.empty() || input_elements(Case(op, sample, dtypes, 6)) <= quick_elements) {
            all.push_back(sample);
            if (all.size() == quick_samples) break;
        }
    }
    return all;
}

FaultyCalls try_other_values(const Op &op, const Options &o, const std::string &fault) {
    const Force force(host_isa(), o.variant, "ascend");
    simulated_device().look_for_races(false);
    const Case first(op, o.sample, o.dtypes, 6);
    const std::vector<Case> others = cases_with_other_reals(op, first);
    const int tries = input_elements(first) <= small_program ? 400 : 80;
    FaultyCalls found;
    for (int n = 2; n < tries + 2; n++) {
        const OtherCall call = other_call(op, first, others, n);
        simulated_device().plant("");
        const std::vector<Tensor> right = results_of(call.of);
        simulated_device().plant(fault);
        const std::vector<Tensor> faulty = results_of(call.of);
        found.calls++;
        const bool same = call.is_usual ? have_same_bits(right, faulty)
                                        : have_same_bits(or_nan(op, call.of, right),
                                                         or_nan(op, call.of, faulty));
        if (same) continue;
        found.have_same_bits = false;
        found.wrong = only_faulty_is_wrong(op, call, right, faulty);
        if (!found.wrong.empty()) return found;
    }
    return found;
}

void check_ascend(const Op &op, const Options &o, Report &r) {
    if (op.form == Form::composite) return r.skip("composed of other ops");
    if (!o.sample.empty()) {
        simulated_device().look_for_races(true);
        Case c(op, o.sample, o.dtypes, 6);
        return run_variants(op, c, {o.variant}, one_sample_repetition, r);
    }
    if (o.quick && (op.name == "ctc_kernel_dlog_probs" || op.name == "fold_kernel"))
        return r.skip("takes minutes; only without --quick");
    for (auto &dtypes : op.dtypes) {
        if (!o.dtypes.empty() && dtypes != o.dtypes) continue;
        const std::vector<std::string> quick = quick_samples_of(op, dtypes);
        for (auto &sample : op.samples) {
            const bool is_quick = std::ranges::count(quick, sample) > 0;
            if (o.quick && !is_quick) continue;
            Case c(op, sample, dtypes, 6);
            simulated_device().look_for_races(is_quick);
            check_sample(op, c, r);
        }
    }
    simulated_device().look_for_races(false);
    const Sample first = parse_sample(op, op.samples[0]);
    for (auto &[name, value] : first.dims) {
        std::string sample;
        for (auto &[other, extent] : first.dims)
            sample += other + "=" + std::to_string(other == name ? 0 : extent) + " ";
        for (auto &[attr, text] : first.attrs)
            sample += attr + "=" + text + " ";
        check_empty(op, sample, o.dtypes.empty() ? op.dtypes[0] : o.dtypes, r);
    }
}

}  // namespace halyard::check
