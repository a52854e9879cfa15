// Checks isolation: a NaN or an infinity in one element of an input reaches no element of the
// output that doesn't depend on it; the others keep their bits.
//
// The dependence comes from the reference: elements that don't change there when the value is set
// must not change in the kernel either. The file is not about processes or memory: see sandbox.h
// for races, child_check.h for crashes.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/dispatch/plan.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

// The limit for a sample's tensors, because the reference runs again for each value.
constexpr int64_t max_elements = 20000;

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

// Returns which elements of an output must stay the same. `depends` marks those that depend on the
// value.
//
// These are all others, except for products: a product with a zero of the padding, or of a tile
// that Winograd transforms, passes a NaN to its neighbours. For products they are the elements at
// other positions of a dimension that output and input share: other images, rows, channels.
std::vector<bool> must_stay(const std::vector<bool> &depends, const Shape &shape,
                            const std::vector<bool> &shared, bool is_product) {
    std::vector<bool> stay(depends.size());
    for (size_t i = 0; i < depends.size(); i++)
        stay[i] = !depends[i];
    if (!is_product) return stay;
    // The value is multiplied only with padding.
    if (std::count(depends.begin(), depends.end(), true) == 0)
        return std::vector<bool>(depends.size());
    const auto place = [&](size_t i, int d) {
        for (int inner = shape.rank() - 1; inner > d; inner--)
            i /= size_t(shape[inner]);
        return i % size_t(shape[d]);
    };
    std::vector<std::set<size_t>> reached(static_cast<size_t>(shape.rank()));
    for (size_t i = 0; i < depends.size(); i++) {
        for (int d = 0; d < shape.rank(); d++)
            if (depends[i]) reached[size_t(d)].insert(place(i, d));
    }
    for (size_t i = 0; i < depends.size(); i++) {
        bool elsewhere = false;
        for (int d = 0; d < shape.rank(); d++)
            elsewhere |= shared[size_t(d)] && !reached[size_t(d)].count(place(i, d));
        stay[i] = stay[i] && elsewhere;
    }
    return stay;
}

// Returns the output element that changed though it doesn't depend on `input`'s value; "" for none.
std::string leak(const Op &op, size_t input, const std::vector<Tensor> &clean,
                 const std::vector<Tensor> &spoilt, const Problem &expected, const Problem &now) {
    const std::vector<std::string> names = op.extents_of(op.sig.inputs[input]);
    for (size_t k = 0; k < clean.size(); k++) {
        const TensorSpec &t = op.sig.outputs[k];
        const std::vector<double> &a = expected.tensors.at(t.name).v;
        const std::vector<double> &b = now.tensors.at(t.name).v;
        std::vector<bool> depends, shared;
        for (size_t i = 0; i < a.size(); i++)
            depends.push_back(!same(a[i], b[i]));
        for (auto &e : op.extents_of(t))
            shared.push_back(std::find(names.begin(), names.end(), e) != names.end());
        const bool is_product = op.contract.measure == Contract::products;
        const std::vector<bool> stay = must_stay(depends, clean[k].shape(), shared, is_product);
        const std::vector<double> before = clean[k].to_vector<double>();
        const std::vector<double> after = spoilt[k].to_vector<double>();
        for (size_t i = 0; i < a.size(); i++) {
            if (stay[i] && !same(before[i], after[i])) {
                return t.name + "[" + std::to_string(i) + "], which doesn't depend on it, is " +
                       std::to_string(after[i]) + " instead of " + std::to_string(before[i]);
            }
        }
    }
    return "";
}

// The calls of one sample, on every instruction set and variant that accepts it.
class Calls {
public:
    Calls(const Op &op, const Options &o, const Case &c) : op_(op), case_(c) {
        const std::vector<Isa> isas = isas_of(op, o);
        for (Isa isa : isas) {
            for (auto &v : op.variants) {
                if ((!o.variant.empty() && v.name != o.variant) || (o.quick && isa != isas.back()))
                    continue;
                const Force force(isa, v.name);
                begin_step(place(isa, v.name));
                try {
                    clean_.push_back({isa, v.name, dispatch(c.registered, c.in, c.attrs)});
                } catch (const DispatchError &) {
                    // No kernel accepts this sample; check_reference reports that.
                }
            }
        }
    }
    void expect(size_t input, const Case &spoilt, const std::string &what, Report &r) const {
        for (auto &call : clean_) {
            const Force force(call.isa, call.variant);
            const std::string where = place(call.isa, call.variant) + " with " + what;
            begin_step(where);
            const auto results = dispatch(case_.registered, spoilt.in, case_.attrs);
            const std::string error = leak(op_, input, call.results, results, case_.problem,
                                           spoilt.problem);
            r.expect(where, error);
        }
    }

private:
    std::string place(Isa isa, const std::string &variant) const {
        return std::string("f32/") + name_of(isa) + (variant.empty() ? "" : "/" + variant) + " '" +
               case_.sample + "'";
    }
    struct Call {
        Isa isa;
        std::string variant;
        std::vector<Tensor> results;
    };
    const Op &op_;
    const Case &case_;
    std::vector<Call> clean_;
};

// Returns true for an input of a gradient op that is an output of the forward op: its values can't
// be chosen.
bool is_result(const Op &op, const std::string &input) {
    const OpPtr forward = op_table().make(forward_name(op.name));
    return forward && op.sig.differentiates(forward->sig) &&
           std::any_of(forward->sig.outputs.begin(), forward->sig.outputs.end(),
                       [&](auto &t) { return t.name == input; });
}

// Returns the case with `value` at element `at` of input k, solved again.
Case with_value(const Op &op, const Case &c, size_t k, size_t at, float value) {
    Case spoilt = c;
    spoilt.in[k] = c.in[k].copy();
    spoilt.in[k].data<float>()[at] = value;
    spoilt.problem.tensors[op.sig.inputs[k].name].v[at] = value;
    spoilt.fit_forward_outputs(op);
    for (auto &t : op.sig.outputs) {
        std::vector<double> &v = spoilt.problem.tensors[t.name].v;
        std::fill(v.begin(), v.end(), 0.0);
    }
    spoilt.solve(op);
    return spoilt;
}

// Checks input k with a NaN in its first and last element and an infinity in a random one.
void check_input(const Op &op, const Case &c, const Calls &calls, size_t k, std::mt19937 &rng,
                 Report &r) {
    const std::string &name = op.sig.inputs[k].name;
    const auto n = size_t(c.in[k].elements());
    const std::pair<size_t, float> values[] = {
        {0, NAN}, {n - 1, NAN}, {size_t(rng()) % n, INFINITY}};
    for (auto &[at, value] : values) {
        calls.expect(
            k, with_value(op, c, k, at, value),
            (std::isnan(value) ? "NaN in " : "Inf in ") + name + "[" + std::to_string(at) + "]", r);
    }
}

}  // namespace

void check_isolation(const Op &op, const Options &o, Report &r) {
    if (op.dtypes[0] != "f32") return;
    std::mt19937 rng(12);
    int done = 0;
    for (auto &sample : op.samples) {
        Case c(op, sample, "f32", 10);
        int64_t elements = 0;
        for (auto &[name, a] : c.problem.tensors)
            elements += int64_t(a.v.size());
        if (elements > max_elements || (o.quick && done >= 4)) continue;
        done++;
        c.solve(op);
        const Calls calls(op, o, c);
        for (size_t k = 0; k < c.in.size(); k++) {
            const bool has_values = c.in[k].dtype() == DType::f32 && c.in[k].elements() > 0;
            if (has_values && !is_result(op, op.sig.inputs[k].name))
                check_input(op, c, calls, k, rng, r);
        }
    }
}

}  // namespace halyard::check
