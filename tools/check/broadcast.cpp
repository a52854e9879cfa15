// Checks broadcasting: a tensor of extent 1 that is broadcast gives the bits of the same tensor
// expanded and copied. So does a tensor whose leading dimensions are stored in another order.
// Kernels with a separate loop for broadcast operands may round differently there; then both
// results are within the contract.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "primitives/primitive.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "tools/check/check.h"
#include "tools/check/guard.h"

namespace halyard::check {
namespace {

using Tensors = std::vector<Tensor>;

// The leading dimensions of an input that become 1.
enum class Way { all, last, first, dropped, swapped };
// dropped: there are none; swapped: all, in another order.
constexpr Way ways[] = {Way::all, Way::last, Way::first, Way::dropped, Way::swapped};

const char *name_of(Way way) {
    switch (way) {
    case Way::all: return "leading dimensions of 1";
    case Way::last: return "the last leading dimension 1";
    case Way::first: return "the first dimension 1";
    case Way::dropped: return "no leading dimensions";
    case Way::swapped: break;
    }
    return "leading dimensions in another order";
}

// Returns how many dimensions of the input may be broadcast: the first ones.
int leading(const TensorSpec &t, const Tensor &whole) {
    return whole.rank() - (t.any_rank ? 0 : int(t.extents.size()));
}

Tensor shortened(const Tensor &whole, int dimensions, Way way) {
    Tensor t = whole;
    if (way == Way::swapped)
        return dimensions < 2 ? whole : whole.swap_axes(0, 1).copy().swap_axes(0, 1);
    for (int d = 0; d < dimensions; d++) {
        const bool is_chosen = way == Way::last    ? d == dimensions - 1
                               : way == Way::first ? d == 0
                                                   : true;
        if (is_chosen && t.size(d) > 1) t = t.slice(d, 0, 1);
    }
    t = t.copy();
    while (way == Way::dropped && t.rank() > whole.rank() - dimensions && t.size(0) == 1)
        t = t.squeeze(0);
    return t;
}

// Returns two problems stacked in a new first dimension, for tensors with `..n` in their signature.
Tensor stacked(const Tensor &a, const Tensor &b) {
    Shape shape = a.shape();
    shape.insert(0, 2);
    const Tensor both = Tensor::empty(shape, a.dtype());
    both.slice(0, 0, 1).reshape(a.shape()).assign(a);
    both.slice(0, 1, 2).reshape(a.shape()).assign(b);
    return both;
}

Tensors whole_inputs(const Op &op, const Case &c, const Case &other) {
    Tensors all = c.in;
    for (size_t k = 0; k < all.size(); k++)
        if (!op.sig.inputs[k].group.empty()) all[k] = stacked(c.in[k], other.in[k]);
    return all;
}

// Returns subsets of the inputs that may be broadcast, as masks; at least one input stays whole. Of
// many inputs it takes each alone, and all but one.
std::vector<unsigned> subsets(const Op &op, const Tensors &whole) {
    std::vector<size_t> may;
    for (size_t k = 0; k < whole.size(); k++) {
        if (leading(op.sig.inputs[k], whole[k]) > 0 &&
            (op.sig.inputs[k].any_rank || !op.sig.inputs[k].group.empty()))
            may.push_back(k);
    }
    std::vector<unsigned> all;
    for (unsigned m = 1; m + 1 < 1U << may.size(); m++) {
        const auto members = size_t(std::popcount(m));
        if (may.size() > 4 && members != 1 && members != may.size() - 1) continue;
        unsigned mask = 0;
        for (size_t i = 0; i < may.size(); i++)
            if (m >> i & 1) mask |= 1U << may[i];
        all.push_back(mask);
    }
    return all;
}

// Returns false for composite ops whose [*] means tensors of different shapes.
bool broadcasts(const Op &op) {
    static constexpr const char *none[] = {"dot",     "inner",           "tensor_dot",
                                           "gather",  "gather_elements", "tensor_scatter_elements",
                                           "scatter", "scatter_add",     "unsorted_segment_sum"};
    return std::ranges::find(none, op.name) == std::end(none);
}

// Returns true unless stacking would move the op's axis: the last axis stays.
bool can_be_stacked(const Op &op, const Attrs &attrs) {
    const int axis = attrs.find("axis");
    return op.axis.empty() || axis < 0 || attrs.integer(size_t(axis)) == -1;
}

// All NaNs are equal.
bool same_bits_or_nan(const Tensor &a, const Tensor &b) {
    if (std::memcmp(a.raw(), b.raw(), a.bytes()) == 0) return true;
    const std::vector<double> x = a.to_vector<double>();
    const std::vector<double> y = b.to_vector<double>();
    const auto alike = [](double u, double v) {
        return std::isnan(u) ? std::isnan(v) : u == v && std::signbit(u) == std::signbit(v);
    };
    return is_float(a.dtype()) && std::ranges::equal(x, y, alike);
}

class Comparison {
public:
    Comparison(const Op &op, const Case &c, Report &r) : op_(op), case_(c), report_(r) {}

    void run(const Tensors &whole, unsigned subset, Way way) {
        Tensors in = whole;
        Tensors expanded = whole;
        std::string where = case_.dtypes + " '" + case_.sample + "'";
        bool changed = false;
        for (size_t k = 0; k < in.size(); k++) {
            if (!(subset >> k & 1)) continue;
            in[k] = shortened(whole[k], leading(op_.sig.inputs[k], whole[k]), way);
            expanded[k] = in[k].expand(whole[k].shape()).copy();
            changed |= !(in[k].shape() == whole[k].shape()) || !in[k].dense();
            where += " " + op_.sig.inputs[k].name + in[k].shape().text();
        }
        if (!changed) return;
        where += std::string(" (") + name_of(way) + ")";
        for (Tensor &t : expanded)
            t = t.copy();  // composite updates write to their inputs
        Tensors want;
        try {
            want = called(expanded);
        } catch (const Error &e) {
            return report_.skip(std::string("samples that can't be stacked"));
        }
        try {
            const bool alike = have_same_layouts(in, expanded);
            report_.expect(where, difference(want, guarded(in, where), alike));
            if (updates_in_place(subset))
                report_.expect(where + " in place", difference(want, in_place(in, where), alike));
        } catch (const Error &e) {
            refused(where, e);
        }
    }

private:
    Tensors called(const Tensors &in) const {
        return Primitive(case_.registered, case_.attrs).run(in);
    }

    Tensors guarded(Tensors in, const std::string &where) {
        Guards guards(Guards::after);
        guards.move(op_, in, {});
        begin_step(kernel_text(case_) + " " + where);
        const Tensors out = called(in);
        if (const std::string outside = guards.finding(); !outside.empty())
            report_.fail(where, outside);
        return out;
    }

    // Returns true if all outputs are written over inputs that aren't broadcast.
    bool updates_in_place(unsigned subset) const {
        if (op_.form == Form::composite) return false;  // they write to their inputs anyway
        for (const TensorSpec &y : op_.sig.outputs) {
            const auto under = std::ranges::find_if(
                op_.sig.inputs, [&](const TensorSpec &t) { return y.name == t.name + "_out"; });
            if (under == op_.sig.inputs.end() || (subset >> (under - op_.sig.inputs.begin()) & 1))
                return false;
        }
        return true;
    }
    Tensors in_place(Tensors in, const std::string &where) {
        for (Tensor &t : in)
            t = t.copy();
        Guards guards(Guards::after);
        guards.move(op_, in, {});
        begin_step(kernel_text(case_) + " " + where + " in place");
        Primitive(case_.registered, case_.attrs).run_in_place(in);
        if (const std::string outside = guards.finding(); !outside.empty())
            report_.fail(where + " in place", outside);
        Tensors out;
        for (const TensorSpec &y : op_.sig.outputs) {
            for (size_t k = 0; k < in.size(); k++)
                if (y.name == op_.sig.inputs[k].name + "_out") out.push_back(in[k].copy());
        }
        return out;
    }

    // Compares bits if one kernel made both results from the same layouts. Otherwise two results
    // may differ by twice the contract.
    std::string difference(const Tensors &want, const Tensors &got, bool alike) const {
        OpRecord twice = op_;
        twice.contract.ulps *= 2;
        if (twice.contract.measure == Contract::products)
            twice.contract.measure = Contract::normwise;
        for (size_t k = 0; k < want.size(); k++) {
            const std::string &name = op_.sig.outputs[k].name;
            if (!(got[k].shape() == want[k].shape())) {
                return name + " has shape " + got[k].shape().text() + ", expected " +
                       want[k].shape().text();
            }
            if (same_bits_or_nan(got[k].contiguous(), want[k].contiguous())) continue;
            if (alike) return name + " has other bits than with expanded copies";
            Problem expected;
            expected.tensors[name] = array_of(want[k]);
            const std::string error = compare(twice, name, got[k], expected);
            if (!error.empty()) return error + ", with expanded copies";
        }
        return "";
    }

    // Returns true if both calls pass the same strides to the same kernel.
    bool have_same_layouts(const Tensors &a, const Tensors &b) const {
        if (op_.form == Form::composite) return false;
        const Plan one = planned(a);
        const Plan other = planned(b);
        bool alike = one.kernel == other.kernel && one.loops == other.loops;
        for (size_t k = 0; alike && k < one.inputs.size(); k++) {
            const Plan::Buffer &x = one.inputs[k];
            const Plan::Buffer &y = other.inputs[k];
            alike = x.outer == y.outer && std::equal(x.dims, x.dims + x.rank, y.dims);
        }
        return alike;
    }
    Plan planned(const Tensors &in) const {
        const std::vector<OperandMeta> metas = metas_of(in);
        return make_plan(case_.registered, metas, case_.attrs);
    }

    // A composite op may reject broadcasting by a typed error; kernels accept it.
    void refused(const std::string &where, const Error &e) {
        if (op_.form == Form::composite)
            report_.skip("inputs that would have to be broadcast are refused");
        else
            report_.fail(where, e.what());
    }

    const Op &op_;
    const Case &case_;
    Report &report_;
};

}  // namespace

void check_broadcast(const Op &op, const Options &o, Report &r) {
    if (!broadcasts(op)) return r.skip("its inputs aren't broadcast");
    const size_t most = o.quick ? 3 : op.samples.size();
    for (size_t s = 0; s < std::min(most, op.samples.size()); s++) {
        const std::string &dtypes = o.dtypes.empty() ? op.dtypes[0] : o.dtypes;
        const Case c(op, op.samples[s], dtypes, 11);
        const Case other(op, op.samples[s], dtypes, 12);
        if (!can_be_stacked(op, c.attrs)) continue;
        const Tensors whole = whole_inputs(op, c, other);
        Comparison comparison(op, c, r);
        for (const unsigned subset : subsets(op, whole)) {
            for (const Way way : ways)
                comparison.run(whole, subset, way);
        }
    }
}

}  // namespace halyard::check
