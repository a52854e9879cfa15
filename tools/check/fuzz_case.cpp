// One random call: its line of text, its tensors, its result.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "bench/harness/progress.h"
#include "dsl/formula_constants.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/plan.h"
#include "registry/op/names.h"
#include "registry/op/renamed_variants.h"
#include "tools/check/cancellation.h"
#include "tools/check/cuda_model.h"
#include "tools/check/fills.h"
#include "tools/check/fuzz.h"
#include "tools/check/guard.h"
#include "tools/check/sandbox.h"
#include "tools/check/ulps.h"

namespace halyard::check {

std::string FuzzCase::text() const {
    std::string s = dtypes + "/" + (device.empty() ? name_of(isa) : device) +
                    (variant.empty() ? "" : "/" + variant);
    const std::string problem = text_of(sample);
    s += (problem.empty() ? "" : " ") + problem;
    for (auto &[name, how] : layouts)
        s += " " + name + ":" + how;
    if (magnitudes == Magnitudes::wide) s += " wide";
    if (magnitudes == Magnitudes::extreme) s += " extreme";
    if (!tiny.empty()) s += " tiny:" + tiny;
    if (every_value) s += " every" + (every_value_of.empty() ? "" : ":" + every_value_of);
    if (every_pair) s += " pairs";
    if (integers) s += " integers";
    if (breakpoints) s += " bends";
    if (constants) s += " constants";
    if (lonely) s += " lonely";
    if (first_axis) s += " axis0";
    if (specials) s += " specials:" + std::to_string(specials);
    return s + " seed:" + std::to_string(seed);
}

FuzzCase parse_fuzz_case(const OpRecord &op, const std::string &text) try {
    FuzzCase c;
    std::stringstream words(text);
    std::string w, place, sample;
    words >> place;
    std::stringstream places(place);
    std::getline(places, c.dtypes, '/');
    if (std::find(op.dtypes.begin(), op.dtypes.end(), c.dtypes) == op.dtypes.end())
        throw AttrError(op.name, "has no kernels for '" + c.dtypes + "'");
    if (std::getline(places, w, '/')) {
        if (w == "cuda" || w == "opencl") {
            c.device = w;
            c.isa = host_isa();
        } else
            c.isa = isa_of(w);
    }
    std::getline(places, c.variant);
    c.variant = present_variant_name(op.name, c.variant);
    while (words >> w) {
        const size_t at = w.find(':');
        if (w == "wide")
            c.magnitudes = FuzzCase::Magnitudes::wide;
        else if (w == "extreme")
            c.magnitudes = FuzzCase::Magnitudes::extreme;
        else if (w == "bends")
            c.breakpoints = true;
        else if (w == "constants")
            c.constants = true;
        else if (w.starts_with("tiny:"))
            c.tiny = w.substr(at + 1);
        else if (w == "every")
            c.every_value = true;
        else if (w == "pairs")
            c.every_pair = true;
        else if (w.starts_with("every:")) {
            c.every_value = true;
            c.every_value_of = w.substr(at + 1);
        } else if (w == "integers")
            c.integers = true;
        else if (w == "lonely")
            c.lonely = true;
        else if (w == "axis0")
            c.first_axis = true;
        else if (at == std::string::npos)
            sample += w + " ";
        else if (w.starts_with("specials:"))
            c.specials = std::stoi(w.substr(at + 1));
        else if (w.starts_with("seed:"))
            c.seed = std::stoi(w.substr(at + 1));
        else
            c.layouts[w.substr(0, at)] = w.substr(at + 1);
    }
    c.sample = parse_sample(op, sample);
    return c;
} catch (const std::logic_error &) {  // of std::stoi
    throw AttrError(op.name, "a number in '" + text + "' isn't one");
}

namespace {

// A value for memory that no kernel may read.
double filler(DType t) {
    return is_float(t) ? NAN : t == DType::boolean ? 1 : 77;
}

// Returns the part of `memory` from element `at` on.
Tensor view(const Tensor &memory, const Shape &shape, int64_t at) {
    return memory.slice(0, at, at + shape.elements()).reshape(shape);
}

// Returns uninitialised memory for t's values in the layout `how`, surrounded by filler.
Tensor memory_with_layout(const Tensor &t, const std::string &how) {
    const int rank = t.rank();
    const auto filled = [&](const Shape &shape) {
        return Tensor::full(shape, filler(t.dtype()), t.dtype());
    };
    Shape wide = t.shape();
    if (how == "gap" && rank > 1) {
        wide[rank - 2]++;
        return filled(wide).slice(rank - 2, 0, t.shape()[rank - 2]);
    }
    if (how == "shifted" || rank == 0)
        return filled({t.elements() + 1}).slice(0, 1, t.elements() + 1).reshape(t.shape());
    if (how == "pitch") {
        wide[rank - 1] += 3;
        return filled(wide).slice(rank - 1, 1, 1 + t.shape()[rank - 1]);
    }
    if (how != "gaps") throw AttrError("fuzz", "an input has no layout '" + how + "'");
    for (int64_t &e : wide)
        e = 2 * e + 1;
    Tensor to = filled(wide);
    for (int d = 0; d < rank; d++)
        to = to.slice(d, 1, 1 + 2 * t.shape()[d], 2);
    return to;
}

// Returns a copy of t in the layout `how` (tools/check/fuzz.h), or t itself for "" and stillN.
Tensor with_layout(const Tensor &t, const std::string &how) {
    const int rank = t.rank();
    if (how.empty() || how.starts_with("still")) return t;
    std::vector<int> order;
    if (how == "reversed" || how == "swapped") {  // its own inverse
        for (int d = how == "swapped" && rank > 0 ? rank - 1 : rank; d-- > 0;)
            order.push_back(d);
        if (int(order.size()) < rank) order.push_back(rank - 1);
        return t.transpose(order).copy().transpose(order);
    }
    if (how == "columns") {
        if (rank < 2) return t;
        for (int d = 0; d < rank; d++)
            order.push_back(d);
        std::swap(order[size_t(rank) - 1], order[size_t(rank) - 2]);
        return with_layout(t.transpose(order), "gap").transpose(order);
    }
    const Tensor to = memory_with_layout(t, how);
    to.assign(t);
    return to;
}

// Returns which dimensions of an input are reduced into one element of the output: those of a
// reduction, or the row of a plain op.
std::vector<bool> dimensions_folded(const Op &op, const Tensor &t) {
    std::vector<bool> folded(static_cast<size_t>(t.rank()), false);
    const bool reduction = op.form == Form::reduction && t.rank() == 4;  // [o,r,i,s]
    for (int d = 0; d < t.rank(); d++)
        folded[size_t(d)] = reduction ? d % 2 == 1 : d == t.rank() - 1;
    return folded;
}

// Returns the index of line number `line`, for lines with extents `lines`.
Shape index_of_line(const Shape &lines, int64_t line) {
    Shape at = lines;
    for (int d = lines.rank(); d-- > 0; line /= lines[d])
        at[d] = line % lines[d];
    return at;
}

// Returns the value of the element that decides: one less or more than the others, if the dtype has
// such a number.
double odd_value(DType t, double common, int seed) {
    if (t == DType::boolean) return 1 - common;
    const bool has_less = common > 0 || t != DType::u8;
    return common + (has_less && seed % 4 < 2 ? -1 : 1);
}

// Sets all elements to 0, or to 1 if the seed is odd, except one among those that are reduced into
// one: the first, the last or any. That one decides any(), the minimum and the product. Of every
// fifth line all elements are alike, so that what a line before has left would show.
void single_out(const Op &op, const Tensor &t, int seed, std::mt19937 &rng) {
    if (t.elements() == 0 || t.rank() == 0) return;
    const std::vector<bool> folded = dimensions_folded(op, t);
    const double common = seed % 2;
    const double odd = odd_value(t.dtype(), common, seed);
    Shape lines = t.shape();
    for (int d = 0; d < t.rank(); d++)
        if (folded[size_t(d)]) lines[d] = 1;
    t.assign(Tensor::full(t.shape(), common, t.dtype()));
    for (int64_t line = 0; line < lines.elements(); line++) {
        if (line % 5 == 3) continue;
        Shape at = index_of_line(lines, line);
        const uint32_t which = uint32_t(line + seed / 4) % 3;
        for (int d = 0; d < t.rank(); d++) {
            if (!folded[size_t(d)]) continue;
            at[d] = which == 0   ? 0
                    : which == 1 ? t.size(d) - 1
                                 : int64_t(rng() % uint64_t(t.size(d)));
        }
        t.set(at, odd);
    }
}

// Returns the constants of the op's formula at which it may be called. Formulas of several numbers
// overflow in between, and have the bounds of their contract for numbers near 1 only.
std::vector<double> usable_constants(const Op &op, const std::string &dtypes) {
    std::vector<double> all = formula_constants(op.name, dtypes);
    if (!has_ulps(op)) std::erase_if(all, [](double v) { return v < 0x1p-20 || v > 0x1p8; });
    return all;
}

// Replaces smaller values by `least`.
void raise_to(const Tensor &t, double least) {
    const Tensor flat = t.reshape({t.elements()});
    for (int64_t i = 0; i < t.elements(); i++)
        if (flat.at({i}) < least) flat.set({i}, least);
}

// Integers are often equal, and equal terms of a sum round alike. So where functions of integers
// are added up, errors are allowed that many times.
constexpr int inexact_integers = 4;

// Returns the longest extent of a tensor whose elements are all equal, otherwise 0.
int64_t equal_elements(const Tensor &t) {
    const std::vector<double> all = t.to_vector<double>();
    if (all.empty() || !std::ranges::all_of(all, [&](double v) { return v == all[0]; })) return 0;
    int64_t longest = 1;
    for (int d = 0; d < t.rank(); d++)
        longest = std::max(longest, t.size(d));
    return longest;
}

// The op's tensors in the layouts of the case.
class Call {
public:
    Call(const Op &op, const FuzzCase &f)
        : op_(op), f_(f), c_(op, legal_sample(op, f.sample), f.dtypes, f.seed),
          guards_(f.seed / 2 % 2 ? Guards::after : Guards::before) {
        std::mt19937 rng(static_cast<uint32_t>(f.seed));
        std::vector<Tensor> repeated(c_.in.size());
        size_t alike = 0;  // inputs with equal terms
        std::vector<double> reals;
        for (auto &[name, value] : c_.problem.reals)
            reals.push_back(value);
        for (size_t k = 0; k < c_.in.size(); k++) {
            const std::string &name = op.sig.inputs[k].name;
            const std::string how = layout_of(name);
            fill_input(k, reals, rng);
            const int d = how.starts_with("still") ? std::atoi(how.c_str() + 5) : -1;
            if (d >= 0 && d < c_.in[k].rank() && c_.in[k].size(d) > 1) {
                repeated[k] = c_.in[k].slice(d, 0, 1).expand(c_.in[k].shape());
                c_.in[k] = repeated[k].copy();
            }
            const int64_t terms = repeated[k].defined() ? repeated[k].size(d)
                                                        : equal_elements(c_.in[k]);
            alike += terms > 1;
            equal_terms_ = std::max(equal_terms_, terms);
            c_.read_input(k);
        }
        if (alike < c_.in.size()) equal_terms_ = 0;
        const std::vector<Tensor> before = c_.in;
        c_.fit_forward_outputs(op);
        for (size_t k = 0; k < c_.in.size(); k++)
            if (repeated[k].defined() && c_.in[k].same_memory(before[k])) c_.in[k] = repeated[k];
        for (size_t k = 0; k < op.sig.outputs.size(); k++)
            place_output(k);
        for (size_t k = 0; k < c_.in.size(); k++) {
            if (!shares_memory_.count(op.sig.inputs[k].name))
                c_.in[k] = with_layout(c_.in[k], layout_of(op.sig.inputs[k].name));
        }
        if (f.first_axis) rows_along_first_axis();
        guards_.move(op, c_.in, out_);
    }

    void call() {
        const Force force(f_.isa, f_.variant, f_.device.empty() ? "cpu" : f_.device);
        dispatch_into(c_.registered, c_.in, c_.attrs, out_);
    }

    std::string run() {
        std::vector<Tensor> kept;
        for (const Tensor &t : c_.in)
            kept.push_back(t.copy());
        begin_run();
        if (f_.device.empty() && f_.seed % 2 == 0) {
            const std::string error = in_sandbox(out_, garbages[f_.seed / 2 % 2], [&] { call(); });
            if (!error.empty()) return error;
        } else
            call();
        if (const std::string outside = guards_.finding(); !outside.empty()) return outside;
        for (size_t k = 0; k < kept.size(); k++) {
            if (!shares_memory_.count(op_.sig.inputs[k].name) &&
                std::memcmp(c_.in[k].copy().raw(), kept[k].raw(), kept[k].bytes()) != 0)
                return "it wrote into input " + op_.sig.inputs[k].name;
        }
        c_.solve(op_);
        // Equal terms round alike, so that their errors add up instead of cancelling. A sum of n
        // then keeps only the worst-case bound, n eps.
        for (auto &[name, magnitude] : c_.problem.abs_sum) {
            for (double &m : magnitude.v)
                m *= std::max(1.0, double(equal_terms_) / op_.contract.ulps);
        }
        for (size_t k = 0; k < out_.size(); k++) {
            const TensorSpec &spec = op_.sig.outputs[k];
            const Tensor y = f_.first_axis && has_axis(spec) ? axis_last(out_[k]).copy()
                                                             : c_.as_in_signature(spec, out_[k]);
            if (const std::string error = error_of(spec.name, y); !error.empty()) return error;
        }
        return "";
    }

private:
    void begin_run() const {
        const Force force(f_.isa, f_.variant);
        const bool is_chosen = f_.device.empty() && f_.variant.empty();
        begin_step("'" + f_.text() + "'" +
                   (is_chosen ? ", of which dispatch makes " + kernel_text(c_) : ""));
    }
    // Gives an input the values of the case's kind.
    void fill_input(size_t k, const std::vector<double> &reals, std::mt19937 &rng) {
        const TensorSpec &spec = op_.sig.inputs[k];
        const Tensor &t = c_.in[k];
        // An input with a lower bound isn't defined everywhere. A gradient is a product with dy,
        // which stays of usual magnitude where the other factor is extreme.
        const bool is_bounded = c_.problem.dims.count(spec.name + "_least") > 0;
        const bool is_factor = spec.name == "dy" && c_.in.size() > 1;
        const bool extreme = f_.magnitudes == FuzzCase::Magnitudes::extreme;
        const bool usual = f_.magnitudes == FuzzCase::Magnitudes::usual;
        if (!usual && !is_bounded && !(extreme && is_factor)) fill_magnitudes(t, extreme, rng);
        const bool swept = f_.every_value_of.empty() || f_.every_value_of == spec.name;
        if (f_.every_value && swept && !is_factor) fill_every_value(t);
        if (f_.every_pair && !is_bounded) fill_every_pair(t, k);
        if (f_.tiny == spec.name && !is_bounded) fill_tiny(t, rng);
        if (f_.integers && !is_bounded) fill_integers(t, rng);
        if (f_.breakpoints) {
            fill_breakpoints(t, reals, rng);
            if (is_bounded) raise_to(t, double(c_.problem.dims.at(spec.name + "_least")));
        }
        if (f_.constants && !is_bounded && !is_factor)
            fill_constants(t, usable_constants(op_, f_.dtypes), rng);
        if (f_.lonely && std::isupper((unsigned char)spec.dtype[0]))
            single_out(op_, t, f_.seed, rng);
        sprinkle(t, f_.specials, rng);
    }
    // Returns how the result violates the contract. Where NaN and Inf are among the inputs, other
    // elements of a function of one number are as exact as usual.
    std::string error_of(const std::string &output, const Tensor &y) const {
        if (!f_.tiny.empty())
            return compare_conditioned(op_, output, usual_where_expected(output, y), c_.problem);
        const bool specials = f_.specials || f_.every_value;
        const bool usual = !specials && !f_.constants &&
                           f_.magnitudes == FuzzCase::Magnitudes::usual;
        if (!specials && !usual && !has_ulps(op_))
            return compare_conditioned(op_, output, y, c_.problem);
        std::string error;
        if (specials) error = compare_specials(output, y, c_.problem);
        if (f_.every_value && !has_ulps(op_) && error.empty()) {
            return compare_conditioned(op_, output, finite_where_expected(output, y), c_.problem);
        }
        if (specials && !has_ulps(op_)) return error;
        if (error.empty()) {
            OpRecord record = op_;
            if (f_.integers && !are_integers(c_.problem.tensors.at(output)))
                record.contract.ulps *= inexact_integers;
            error = compare(record, output, specials ? finite_where_expected(output, y) : y,
                            c_.problem, usual ? Magnitudes::usual : Magnitudes::any);
        }
        return error;
    }
    static bool are_integers(const Array &a) {
        return std::ranges::all_of(a.v, [](double v) { return v == std::trunc(v); });
    }
    // Returns the result with the expected values where one of both is NaN or infinite, which
    // compare_specials() compares.
    Tensor finite_where_expected(const std::string &output, const Tensor &y) const {
        const Array &want = c_.problem.tensors.at(output);
        Array all = array_of(y);
        for (size_t i = 0; i < all.v.size(); i++)
            if (!std::isfinite(all.v[i]) || !std::isfinite(want.v[i])) all.v[i] = want.v[i];
        return tensor_of(all, y.dtype());
    }
    // Returns the result with the expected values where those are no usual numbers: beside tiny
    // numbers a formula of several underflows or overflows in between.
    Tensor usual_where_expected(const std::string &output, const Tensor &y) const {
        const Array &want = c_.problem.tensors.at(output);
        Array all = array_of(y);
        const auto is_usual = [](double v) {
            return std::fabs(v) > 0x1p-10 && std::fabs(v) < 0x1p10;
        };
        for (size_t i = 0; i < all.v.size(); i++)
            if (!is_usual(want.v[i])) all.v[i] = want.v[i];
        return tensor_of(all, y.dtype());
    }
    // Throws if the op's conditions reject the sample, for which the reference isn't defined.
    static std::string legal_sample(const Op &op, const Sample &s) {
        Dims dims = s.dims;
        bind_attributes(Attrs(op, s.attrs), dims);
        bind_derived(op, dims);
        check_conditions(op, dims, true);
        return text_of(s);
    }
    bool has_axis(const TensorSpec &t) const {
        return !t.group.empty() && t.extents.size() == 1 && t.extents[0] == op_.axis;
    }
    static Tensor axis_first(const Tensor &t) {
        std::vector<int> order = {t.rank() - 1};
        for (int d = 0; d + 1 < t.rank(); d++)
            order.push_back(d);
        return t.transpose(order);
    }
    static Tensor axis_last(const Tensor &t) {
        std::vector<int> order;
        for (int d = 1; d < t.rank(); d++)
            order.push_back(d);
        order.push_back(0);
        return t.transpose(order);
    }
    // Inputs keep their memory and are viewed with another shape. Results are dense in the caller's
    // shape.
    void rows_along_first_axis() {
        const int axis = c_.attrs.find("axis");
        if (axis < 0) throw AttrError(op_.name, "has no attribute axis");
        c_.attrs.set(size_t(axis), 0);
        for (size_t k = 0; k < c_.in.size(); k++)
            if (has_axis(op_.sig.inputs[k])) c_.in[k] = axis_first(c_.in[k]);
        for (size_t k = 0; k < out_.size(); k++) {
            if (has_axis(op_.sig.outputs[k])) {
                out_[k] = poisoned(out_[k].elements(), out_[k].dtype())
                              .reshape(axis_first(out_[k]).shape());
            }
        }
    }
    std::string layout_of(const std::string &tensor) const {
        const auto it = f_.layouts.find(tensor);
        return it == f_.layouts.end() ? "" : it->second;
    }
    void place_output(size_t k) {
        const std::string &name = op_.sig.outputs[k].name;
        const std::string how = layout_of(name);
        const Shape shape = c_.output_shape(k);
        const DType t = c_.out_dtypes[k];
        const bool on = how.starts_with("on-"), over = how.starts_with("over-");
        if (!on && !over) {
            out_.push_back(view(poisoned(shape.elements() + 1, t), shape, how == "shifted"));
            return;
        }
        const std::string other = how.substr(on ? 3 : 5);
        Tensor *from = nullptr;
        for (size_t i = 0; i < c_.in.size(); i++)
            if (op_.sig.inputs[i].name == other) from = &c_.in[i];
        for (size_t i = 0; i < k; i++)
            if (op_.sig.outputs[i].name == other) from = &out_[i];
        if (!from || from->dtype() != t || shares_memory_.count(other))
            throw ShapeError(op_.name, name + " can't have the layout " + how);
        const Tensor memory = poisoned(std::max(from->elements(), shape.elements() + over), t);
        const Tensor moved = view(memory, from->shape(), 0);
        moved.assign(*from);
        *from = moved;
        shares_memory_[other] = name;
        out_.push_back(view(memory, shape, over));
    }

    const Op &op_;
    const FuzzCase &f_;
    Case c_;
    std::vector<Tensor> out_;
    Guards guards_;
    // The number of equal elements that every input has: as many terms of a sum may be equal.
    int64_t equal_terms_ = 0;
    std::map<std::string, std::string> shares_memory_;  // the input or output below each output
};

}  // namespace

void call_fuzz_case(const Op &op, const FuzzCase &f) {
    try {
        Call(op, f).call();
    } catch (const Error &) {  // the call is rejected
    }
}

namespace {

std::string error_of_call(const Op &op, const FuzzCase &f, bool may_refuse) {
    try {
        return Call(op, f).run();
    } catch (const DeviceError &e) {
        release_devices();  // the context is lost with the launch that failed
        return e.what();
    } catch (const DispatchError &e) {
        const std::string what = e.what();
        return !f.variant.empty() && what.find("no kernel takes this call") != std::string::npos
                   ? ""
                   : what;
    } catch (const Error &e) {
        return may_refuse ? "" : e.what();  // a typed error that gives the reason
    } catch (const std::exception &e) {
        return std::string("threw ") + e.what();
    }
}

}  // namespace

std::string run_fuzz_case(const Op &op, const FuzzCase &f, bool may_refuse) {
    const std::string error = error_of_call(op, f, may_refuse);
    if (f.device != "cuda") return error;
    const std::vector<std::string> found = cuda_findings();
    return found.empty() ? error : found[0];
}

}  // namespace halyard::check
