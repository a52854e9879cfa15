#include "tests/fuzz/check_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <typeinfo>

#include "primitives/autograd/tape.h"
#include "primitives/primitive.h"
#include "primitives/random.h"
#include "registry/dispatch/dispatch.h"
#include "registry/tensor/memory.h"

namespace halyard::fuzz {
namespace {

// Replaces a number below `least` by one that is well above it, because a sum of squares must not
// cancel the square of a mean either.
double raised(double v, double least) { return v < least ? 2 * least + std::fabs(v) : v; }

double element(Draw &draw, const Operand &o) {
    switch (o.values) {
    case Values::quarters: return raised((double(draw.below(17)) - 8) / 4, o.least);
    case Values::small: return raised(double(draw.below(4)), o.least);
    case Values::indices: return double(draw.below(uint64_t(std::max<int64_t>(o.end, 1))));
    case Values::hostile: return double(int64_t(draw.bits()) >> (1 + draw.below(62)));
    case Values::specials: break;
    }
    static const std::vector<double> specials = {NAN,  INFINITY, -INFINITY, 0.0,
                                                 -0.0, 1e-40,    3e38,      -3e38};
    return draw.one_in(2) ? draw.of(specials) : double(draw.below(100)) - 50;
}

// Returns elements of type T, converted.
template<class T> Tensor filled(Draw &draw, const Operand &o, const Shape &distinct) {
    std::vector<T> elements(static_cast<size_t>(distinct.elements()));
    for (T &v : elements) v = (T)element(draw, o);
    return Tensor::from(elements, distinct).to(o.dtype).expand(o.shape).copy();
}

// Returns the operand that the call means: dense, of full size. If it is passed with extents of 1
// or broadcast, its elements repeat along those dimensions.
Tensor full_operand(const Operand &o, uint64_t seed) {
    Shape distinct = o.given();
    if (o.layout.starts_with("still")) {
        const int d = std::stoi(o.layout.substr(5));
        if (d < distinct.rank() && distinct[d] > 1) distinct[d] = 1;
    }
    Draw draw(seed);
    if (!is_float(o.dtype)) return filled<int64_t>(draw, o, distinct);
    return filled<double>(draw, o, distinct);
}

double filler(DType t) {  // The value of memory that nobody should read.
    return is_float(t) ? NAN : t == DType::boolean ? 1 : 77;
}

Tensor with_layout(const Tensor &t, const std::string &how) {
    const int rank = t.rank();
    if (how.empty()) return t;
    if (how == "reversed" || how == "swapped") {  // Both permutations are their own inverse.
        std::vector<int> order;
        for (int d = 0; d < rank; d++) order.push_back(d);
        std::reverse(order.begin(), order.end() - (how == "swapped" && rank > 0));
        return t.transpose(order).copy().transpose(order);
    }
    Shape wide = t.shape();
    const bool gaps = how == "gaps" && rank > 0;
    const bool pitch = how == "pitch" && rank > 0;
    if (gaps)
        for (int64_t &extent : wide) extent = 2 * extent + 1;
    if (pitch) wide[rank - 1] += 3;
    if (!gaps && !pitch) wide = {t.elements() + 1};
    Tensor to = Tensor::full(wide, filler(t.dtype()), t.dtype());
    if (gaps)
        for (int d = 0; d < rank; d++) to = to.slice(d, 1, 1 + 2 * t.shape()[d], 2);
    else if (pitch)
        to = to.slice(rank - 1, 1, 1 + t.shape()[rank - 1]);
    else
        to = to.slice(0, 1, t.elements() + 1).reshape(t.shape());
    to.assign(t);
    return to;
}

// Returns the same operand as the caller passes it.
Tensor passed_operand(const Operand &o, const Tensor &dense) {
    Tensor t = dense;
    const Shape given = o.given();
    for (int d = 0; d < given.rank(); d++)
        if (given[d] != o.shape[d]) t = t.slice(d, 0, given[d]);
    t = t.copy();
    if (!o.layout.starts_with("still")) return with_layout(t, o.layout);
    const int d = std::stoi(o.layout.substr(5));
    return d < t.rank() && t.size(d) > 1 ? t.slice(d, 0, 1).copy().expand(given) : t;
}

double epsilon_of(DType t) {
    switch (t) {
    case DType::f64: return 0x1p-52;
    case DType::f32: return 0x1p-23;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0;
    }
}

// Returns where two tensors of one shape differ by more than `ulps` of the largest element: "[7] is
// 1, not 2", or "" if nowhere. All NaN are equal.
std::string first_difference(const Tensor &a, const Tensor &b, double ulps = 0) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? "" : " is undefined";
    const Tensor x = a.contiguous();
    const Tensor y = b.contiguous();
    if (std::memcmp(x.raw(), y.raw(), x.bytes()) == 0) return "";
    const std::vector<double> v = x.to_vector<double>();
    const std::vector<double> w = y.to_vector<double>();
    double largest = 0;
    for (const double e : w)
        if (std::isfinite(e)) largest = std::max(largest, std::fabs(e));
    const double bound = ulps * epsilon_of(a.dtype()) * largest;
    for (size_t i = 0; i < v.size(); i++) {
        const bool both_nan = std::isnan(v[i]) && std::isnan(w[i]);
        const bool same = v[i] == w[i] && std::signbit(v[i]) == std::signbit(w[i]);
        const bool finite = std::isfinite(v[i]) && std::isfinite(w[i]);
        if (both_nan || same || (finite && std::fabs(v[i] - w[i]) <= bound)) continue;
        char text[100];
        std::snprintf(text, sizeof text, "[%zu] is %.17g, not %.17g", i, v[i], w[i]);
        return text;
    }
    return "";
}

struct Attempt {
    std::vector<Tensor> results;  // outputs, then gradients
    std::string wrong, error;     // `error`: the kit's error that rejected the call
    bool out_of_memory = false;
};

class CallCheck {
public:
    explicit CallCheck(const RandomCall &call) : call_(call), name_(call.op->record.name) {
        for (size_t k = 0; k < call.operands.size(); k++) {
            dense_.push_back(call.operands[k].defined
                                 ? full_operand(call.operands[k], call.seed + k)
                                 : Tensor());
        }
        for (size_t k = 0; k < call.operands.size(); k++)
            passed_.push_back(dense_[k].defined() ? passed_operand(call.operands[k], dense_[k])
                                                  : Tensor());
    }

    CallResult check() {
        if (!call_.changes.empty()) {
            memory::trim();  // the limit counts what the pool keeps of earlier calls
            memory::set_limit(memory::stats().live_bytes + for_changed_calls);
        }
        const Attempt first = attempt(passed_, call_.way);
        if (!first.wrong.empty()) return {first.wrong, false};
        if (!is_plain()) {
            const Attempt second = attempt(dense_,
                                           call_.way == Way::in_place ? Way::run : call_.way);
            if (!second.wrong.empty()) return {"with dense tensors: " + second.wrong, false};
            const std::string other = difference(first, second);
            if (!other.empty()) return {other, false};
        }
        return {"", !first.error.empty()};
    }

private:
    // The bytes that a call with changed attributes may take. Those may ask for results of any
    // size, each element of which sums a large window. With more memory such a call is right, but
    // takes a minute.
    static constexpr int64_t for_changed_calls = 16 << 20;

    const RandomCall &call_;
    const std::string &name_;
    std::vector<Tensor> dense_, passed_;

    bool broadcasts() const {
        return std::ranges::any_of(call_.operands,
                                   [](const Operand &o) { return o.broadcast != 0; });
    }
    bool is_plain() const {
        const auto has_layout = [](const Operand &o) { return !o.layout.empty(); };
        return call_.way != Way::in_place && !broadcasts() &&
               std::ranges::none_of(call_.operands, has_layout);
    }

    // Returns how the call as passed differs from the one with dense tensors of full size.
    std::string difference(const Attempt &first, const Attempt &second) const {
        if (first.out_of_memory || second.out_of_memory) return "";
        const bool may_reject = broadcasts() || call_.way == Way::in_place || updates() ||
                                may_write();
        if (!first.error.empty()) {
            return second.error.empty() && !may_reject
                       ? "refused only because of how tensors lie: " + first.error
                       : "";
        }
        if (!second.error.empty())
            return may_reject ? "" : "refused only where tensors are dense: " + second.error;
        for (size_t k = 0; k < first.results.size(); k++) {
            const Tensor &a = first.results[k];
            const Tensor &b = second.results[k];
            if (a.defined() && b.defined() && !(a.shape() == b.shape())) {
                if (broadcasts()) continue;  // The extent of 1 was meant as such.
                return result(k) + " has shape " + a.shape().text() + ", of dense tensors " +
                       b.shape().text();
            }
            if (ulps_allowed() > 0 && may_overflow()) continue;
            const std::string other = first_difference(a, b, ulps_allowed());
            if (!other.empty()) return result(k) + other + " as of dense tensors of full size";
        }
        return "";
    }

    // For some strides, kernels have loops of their own, which sum in another order or round a
    // product that others don't. Exact ops get no tolerance: integers, copies, and contracts that
    // promise it. If values overflow on the way, nothing is compared.
    double ulps_allowed() const {
        const double promised = call_.op->record.contract.ulps;
        return promised == 0 ? 0 : 16 * std::max(1.0, promised);
    }
    bool may_overflow() const {
        const auto special = [](const Operand &o) { return o.values == Values::specials; };
        return std::ranges::any_of(call_.operands, special) || !call_.changes.empty();
    }

    std::string result(size_t k) const {
        const auto &outputs = call_.op->signature.outputs;
        return k < outputs.size() ? outputs[k].name
                                  : "gradient " + std::to_string(k - outputs.size());
    }

    Attempt attempt(const std::vector<Tensor> &in, Way way) const {
        Attempt a;
        bool forward_done = false;
        set_seed(call_.seed);
        try {
            Attrs attrs = call_.attrs;
            for (auto &[k, value] : call_.changes) attrs.set(k, value);
            const Primitive primitive(*call_.op, attrs);
            if (way == Way::in_place)
                a.results = written_in_place(primitive, in);
            else if (way == Way::gradient)
                a = with_gradients(primitive, in, forward_done);
            else {
                a = unchanged(in, [&] {
                    return way == Way::promoted ? promoted(primitive, in) : primitive.run(in);
                });
            }
            if (a.wrong.empty() && way != Way::in_place)
                a.wrong = wrong_results(a.results, in, way);
        } catch (const Error &e) {
            a.error = e.what();
            a.out_of_memory = dynamic_cast<const MemoryError *>(&e) != nullptr;
            a.wrong = wrong_words(e, forward_done);
        } catch (const std::exception &e) {
            a.wrong = std::string("threw ") + typeid(e).name() + ": " + e.what();
        }
        return a;
    }

    // An error begins with the op's name; for a gradient it may be another op that the tape called.
    std::string wrong_words(const Error &e, bool backward) const {
        const std::string what = e.what();
        const bool named = backward ? what.starts_with("[") && what.find("] ") != std::string::npos
                                    : what.starts_with("[" + name_ + "] ");
        if (!named) return "the error doesn't name the op: " + what;
        if (typeid(e) == typeid(Error)) return "the error has no type of its own: " + what;
        for (const char *inner : {"kernel failed", "unknown name", "no name '", "std::", "$"}) {
            if (what.find(inner) != std::string::npos)
                return "the error speaks of what no caller knows: " + what;
        }
        return "";
    }

    template<class F> Attempt unchanged(const std::vector<Tensor> &in, const F &run) const {
        std::vector<Tensor> before;
        for (const Tensor &t : in) before.push_back(t.defined() ? t.copy() : t);
        Attempt a;
        a.results = run();
        for (size_t k = 0; k < in.size() && !may_write(); k++) {
            if (!first_difference(in[k], before[k]).empty())
                a.wrong = "it wrote into input " + std::to_string(k);
        }
        return a;
    }

    // A composite update writes where its kernels would, and running statistics are stored in
    // inputs.
    bool may_write() const {
        const bool composite = call_.op->record.form == Form::composite;
        return composite && (updates() || call_.attrs.find("is_training") >= 0);
    }

    bool updates() const {
        const auto is_update = [](const TensorSpec &t) { return t.name.ends_with("_out"); };
        return std::ranges::any_of(call_.op->signature.outputs, is_update);
    }

    std::vector<Tensor> promoted(const Primitive &p, const std::vector<Tensor> &in) const {
        switch (in.size()) {
        case 1: return p.run_promoted({in[0]});
        case 2: return p.run_promoted({in[0], in[1]});
        case 3: return p.run_promoted({in[0], in[1], in[2]});
        default: return p.run(in);
        }
    }

    // Passes an update its written inputs, and any other op its first input, as the output.
    std::vector<Tensor> written_in_place(const Primitive &p, const std::vector<Tensor> &in) const {
        std::vector<Tensor> results;
        if (!updates()) {
            if (in.empty()) return p.run(in);
            dispatch_into(p.op(), in, p.attrs(), {&in[0], 1});
            return {in[0].defined() ? in[0].copy() : in[0]};
        }
        p.run_in_place(in);
        for (const TensorSpec &o : p.op().signature.outputs) {
            for (size_t k = 0; k < in.size() && k < p.op().signature.inputs.size(); k++) {
                if (p.op().signature.inputs[k].name + "_out" == o.name)
                    results.push_back(in[k].defined() ? in[k].copy() : in[k]);
            }
        }
        return results;
    }

    Attempt with_gradients(const Primitive &p, const std::vector<Tensor> &in,
                           bool &forward_done) const {
        Tape tape;
        std::vector<Tensor> watched;
        for (const Tensor &t : in) {
            if (t.defined() && is_float(t.dtype()) && !tape.watched(t)) {
                tape.watch(t);
                watched.push_back(t);
            }
        }
        Attempt a = unchanged(in, [&] { return p.run(in); });
        forward_done = true;
        std::vector<Tensor> y;
        for (const Tensor &t : a.results)
            if (t.defined() && is_float(t.dtype())) y.push_back(t);
        if (y.empty() || watched.empty()) return a;
        std::vector<Tensor> ones;
        for (const Tensor &t : y) ones.push_back(Tensor::ones(t.shape(), t.dtype()));
        const std::vector<Tensor> gradients = tape.gradient(y, watched, ones);
        for (size_t k = 0; k < gradients.size(); k++) {
            const Tensor &g = gradients[k];
            if (!g.defined() || !(g.shape() == watched[k].shape()) ||
                g.dtype() != watched[k].dtype()) {
                a.wrong = "gradient " + std::to_string(k) + " is " + described(g) +
                          ", of a tensor that is " + described(watched[k]);
            }
        }
        if (!broadcasts()) a.results.insert(a.results.end(), gradients.begin(), gradients.end());
        return a;
    }

    static std::string described(const Tensor &t) {
        return t.defined() ? std::string(name_of(t.dtype())) + t.shape().text() : "undefined";
    }

    // Checks results against the record: dtypes of all ops, and shapes of elementwise ones.
    std::string wrong_results(const std::vector<Tensor> &results, const std::vector<Tensor> &in,
                              Way way) const {
        const Signature &sig = call_.op->signature;
        if (results.size() < sig.outputs.size())
            return "it gave " + std::to_string(results.size()) + " outputs";
        for (size_t k = 0; k < sig.outputs.size(); k++) {
            const Tensor &t = results[k];
            if (!t.defined()) return sig.outputs[k].name + " is undefined";
            if (way == Way::promoted) continue;
            const std::optional<DType> expected = dtype_of_inputs(sig.outputs[k].dtype, in);
            if (expected && t.dtype() != *expected) {
                return sig.outputs[k].name + " is " + described(t) + " of inputs of " +
                       name_of(*expected);
            }
        }
        return call_.op->record.form == Form::elementwise ? wrong_broadcast(results, in) : "";
    }

    // Returns the dtype that all inputs of one type variable have, or nullopt if there are several.
    std::optional<DType> dtype_of_inputs(const std::string &variable,
                                         const std::vector<Tensor> &in) const {
        const Signature &sig = call_.op->signature;
        std::optional<DType> common;
        for (size_t i = 0; i < sig.inputs.size(); i++) {
            if (sig.inputs[i].dtype != variable || !in[i].defined()) continue;
            if (common && *common != in[i].dtype()) return {};
            common = in[i].dtype();
        }
        return common;
    }

    std::string wrong_broadcast(const std::vector<Tensor> &results,
                                const std::vector<Tensor> &in) const {
        Shape common;
        for (size_t i = 0; i < in.size(); i++) {
            if (call_.op->signature.inputs[i].any_rank)
                common = broadcast(name_.c_str(), common, in[i].shape());
        }
        for (size_t k = 0; k < call_.op->signature.outputs.size(); k++) {
            if (!(results[k].shape() == common)) {
                return result(k) + " has shape " + results[k].shape().text() + ", expected " +
                       common.text();
            }
        }
        return "";
    }
};

}  // namespace

CallResult check_call(const RandomCall &call) { return CallCheck(call).check(); }

}  // namespace halyard::fuzz
