#include "bench/harness/case.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "primitives/library.h"
#include "registry/base/text.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/op/names.h"
#include "registry/op/shape_binder.h"
#include "registry/op/signature.h"

namespace halyard::check {

namespace {

// Returns true for <input>_end, the upper bound of indices, and <input>_least, the lower bound of
// indices and reals.
bool is_bound_of_values(const Signature &sig, const std::string &name) {
    return std::ranges::any_of(sig.inputs, [&](const TensorSpec &t) {
        return name == t.name + "_end" || name == t.name + "_least";
    });
}

}  // namespace

std::vector<std::string> dimensions_of(const Signature &sig) {
    std::vector<std::string> all = sig.names;
    if (std::ranges::any_of(sig.inputs, &TensorSpec::any_rank))
        all.insert(all.end(), {"d0", "d1", "d2"});
    return all;
}

std::string text_of(const Sample &s) {
    std::vector<std::string> words;
    for (auto &[name, value] : s.dims)
        words.push_back(name + "=" + std::to_string(value));
    for (auto &[name, value] : s.attrs)
        words.push_back(name + "=" + value);
    return join(words, " ");
}

Sample parse_sample(const OpRecord &op, const std::string &text) {
    const Signature sig(op.name, op.signature);
    const std::vector<std::string> dimensions = dimensions_of(sig);
    Sample s;
    std::stringstream words(text);
    for (std::string w; words >> w;) {
        const size_t at = w.find('=');
        if (at == std::string::npos)
            throw AttrError(op.name, "sample word '" + w + "', expected name=value");
        const std::string name = w.substr(0, at);
        const std::string value = w.substr(at + 1);
        bool is_attr = false;
        for (auto &a : op.attrs)
            is_attr |= a.name == name;
        if (is_attr) {
            s.attrs[name] = value;
            continue;
        }
        if (!std::ranges::count(dimensions, name) && !is_bound_of_values(sig, name)) {
            throw AttrError(op.name, "no dimension or attribute '" + name + "' in '" +
                                         op.signature + "'; dimensions: " + join(dimensions, " "));
        }
        int64_t &extent = s.dims[name];
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(),
                                                  extent);
        if (error != std::errc() || end != value.data() + value.size())
            throw AttrError(op.name, name + " is '" + value + "', expected a whole number");
    }
    return s;
}

void require_dimensions(const Signature &sig, const Dims &dims, const std::string &text) {
    for (auto &name : dimensions_of(sig)) {
        if (!dims.count(name)) {
            throw AttrError(sig.op, "'" + text + "' doesn't say " + name +
                                        "; dimensions: " + join(dimensions_of(sig), " "));
        }
    }
}

std::vector<DType> dtypes_of(const std::string &text) {
    std::vector<DType> all;
    std::stringstream words(text);
    for (std::string w; std::getline(words, w, ',');)
        all.push_back(dtype_of(w));
    return all;
}

bool same_bits(const Tensor &a, const Tensor &b) {
    const Tensor x = a.contiguous();
    const Tensor y = b.contiguous();
    return x.shape() == y.shape() && std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

Tensor tensor_of(const Array &a, DType t) {
    const Tensor y = Tensor::empty(a.shape, t);
    visit_dtype(t, [&](auto zero) {
        using T = decltype(zero);
        T *to = static_cast<T *>(y.raw());
        for (size_t i = 0; i < a.v.size(); i++) {
            if constexpr (std::is_same_v<T, bool>)
                to[i] = a.v[i] != 0;
            else if constexpr (std::is_integral_v<T>)
                to[i] = (T)int64_t(a.v[i]);
            else if constexpr (std::is_same_v<T, double>)
                to[i] = a.v[i];
            else
                to[i] = T(float(a.v[i]));
        }
    });
    return y;
}

Array array_of(const Tensor &t) {
    Array a(t.shape());
    a.v = t.to_vector<double>();
    return a;
}

namespace {

Array random_array(const Shape &shape, DType t, int64_t end, double least, std::mt19937 &rng) {
    Array a(shape);
    std::uniform_real_distribution<double> real(least, least + 4);
    std::uniform_int_distribution<int64_t> integer(t == DType::u8 ? 0 : -20, 20);
    const auto first = int64_t(least);
    std::uniform_int_distribution<int64_t> index(std::min(first, std::max<int64_t>(0, end - 1)),
                                                 std::max<int64_t>(0, end - 1));
    for (double &v : a.v) {
        v = t == DType::boolean ? double(rng() & 1)
            : is_float(t)       ? real(rng)
            : end > 0           ? double(index(rng))
                                : double(integer(rng));
    }
    return a;
}

}  // namespace

namespace {

// Returns the signature's dimensions in the order in which a call has them; {} if that is the same
// order. References of composite ops take data_format into account themselves.
std::vector<int> order_in_call(const OpRecord &op, const TensorSpec &t, const Dims &dims) {
    if (op.form != Form::plain || t.extents.size() != 4) return {};
    for (const AttrSpec &a : op.attrs) {
        if (a.name == "data_format" && a.choices[size_t(dims.at(a.name))] == "NHWC")
            return {0, 2, 3, 1};
    }
    return {};
}
std::vector<int> inverse_of(const std::vector<int> &order) {
    std::vector<int> inverse(order.size());
    for (size_t d = 0; d < order.size(); d++)
        inverse[size_t(order[d])] = int(d);
    return inverse;
}
Shape in_order(const Shape &shape, const std::vector<int> &order) {
    Shape all = shape;
    for (size_t d = 0; d < order.size(); d++)
        all[int(d)] = shape[order[d]];
    return all;
}

}  // namespace

Shape callers_shape(const OpRecord &op, const TensorSpec &t, const Dims &dims) {
    return in_order(reference_shape(op, t, dims), order_in_call(op, t, dims));
}

Shape reference_shape(const OpRecord &op, const TensorSpec &t, const Dims &dims) {
    std::vector<std::string> extents = t.extents;
    if (t.any_rank) extents = {"d0", "d1", "d2"};
    if (!t.group.empty()) extents.insert(extents.begin(), t.group);
    Shape shape = extents_of(op, t, extents, dims);
    const auto swap = dims.find("transpose_" + t.name);
    if (swap != dims.end() && swap->second)
        std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
    return shape;
}

void bind_values(const OpRecord &op, const Attrs &attrs, Problem &p) {
    for (size_t k = 0; k < op.attrs.size(); k++) {
        if (op.attrs[k].kind == AttrKind::real)
            p.reals[op.attrs[k].name] = attrs.real(k);
        else if (op.form == Form::composite && op.attrs[k].kind == AttrKind::ints) {
            for (size_t place = 0; place < attrs.ints(k).size(); place++)
                p.dims[op.attrs[k].name + std::to_string(place)] = attrs.ints(k)[place];
        }
    }
}

namespace {

// The dtypes of an op's tensors, whose type variables are bound to those of "f32,i32".
struct TensorDtypes {
    TensorDtypes(const Op &op, const std::string &types) : bound_(dtypes_of(types)) {
        for (auto &t : op.sig.inputs)
            in.push_back(dtype(t));
        for (auto &t : op.sig.outputs)
            out.push_back(dtype(t));
    }
    std::vector<DType> in, out;
    std::map<std::string, DType> variables;

private:
    DType dtype(const TensorSpec &t) {
        if (!is_type_variable(t.dtype)) return dtype_of(t.dtype);
        if (!variables.count(t.dtype))
            variables[t.dtype] = bound_.at(std::min(next_++, bound_.size() - 1));
        return variables[t.dtype];
    }
    const std::vector<DType> bound_;
    size_t next_ = 0;
};

// Returns the attributes of a sample. One named "dtype" is the dtype of the results.
Attrs attrs_of(const Op &op, const Sample &s, const TensorDtypes &dtypes) {
    auto given = s.attrs;
    for (auto &a : op.attrs)
        if (a.kind == AttrKind::dtype && a.name == "dtype") given["dtype"] = name_of(dtypes.out[0]);
    return {library().at(op.name).record, given};
}

}  // namespace

std::pair<Attrs, std::vector<OperandMeta>> call_of(const Op &op, const Sample &s,
                                                   const std::string &types) {
    const TensorDtypes tensors(op, types);
    const Attrs attrs = attrs_of(op, s, tensors);
    Dims dims = s.dims;
    bind_attributes(attrs, dims);
    bind_derived(op, dims);
    std::vector<OperandMeta> metas;
    for (size_t k = 0; k < op.sig.inputs.size(); k++) {
        const Shape shape = callers_shape(op, op.sig.inputs[k], dims);
        Shape strides = shape;
        int64_t next = 1;
        for (int d = shape.rank(); d-- > 0; next *= std::max<int64_t>(1, shape[d]))
            strides[d] = next;
        metas.push_back({tensors.in[k], shape, strides});
    }
    return {attrs, metas};
}

Case::Case(const Op &op, const std::string &text, const std::string &types, int seed)
    : registered(library().at(op.name)), sample(text), dtypes(types),
      attrs(registered.record, parse_sample(op, text).attrs) {
    const Sample s = parse_sample(op, text);
    const TensorDtypes tensors(op, types);
    const std::vector<DType> &in_dtypes = tensors.in;
    out_dtypes = tensors.out;
    const auto element = tensors.variables.find("T");
    if (element != tensors.variables.end()) problem.dtype = element->second;
    attrs = attrs_of(op, s, tensors);

    problem.dims = s.dims;
    bind_attributes(attrs, problem.dims);
    bind_values(op, attrs, problem);
    bind_derived(op, problem.dims);
    require_dimensions(op.sig, problem.dims, text);
    auto shape_of = [&](const TensorSpec &t) { return reference_shape(op, t, problem.dims); };
    std::mt19937 rng(static_cast<uint32_t>(seed));
    for (size_t k = 0; k < op.sig.inputs.size(); k++) {
        const TensorSpec &t = op.sig.inputs[k];
        // <input>_end and <input>_least bound indices, <input>_least bounds reals.
        const auto let = [&](const std::string &what, int64_t otherwise) {
            const auto found = problem.dims.find(t.name + what);
            return found == problem.dims.end() ? otherwise : found->second;
        };
        const int64_t end = let("_end", is_type_variable(t.dtype) ? 0 : 7);
        const auto least = double(let("_least", is_float(in_dtypes[k]) ? -2 : 0));
        const Array values = random_array(shape_of(t), in_dtypes[k], end, least, rng);
        in.push_back(as_called(t, tensor_of(values, in_dtypes[k])));
        read_input(k);  // as stored, so that op and reference have the same inputs
    }
    fit_forward_outputs(op);
    // A composite's reference sets the shape.
    for (auto &t : op.sig.outputs)
        problem.tensors[t.name] = op.form == Form::composite ? Array() : Array(shape_of(t));
}

Tensor in_reference_order(const OpRecord &op, const TensorSpec &t, const Dims &dims,
                          const Tensor &of_call) {
    const std::vector<int> order = order_in_call(op, t, dims);
    return order.empty() ? of_call : of_call.transpose(inverse_of(order));
}

Tensor Case::as_in_signature(const TensorSpec &t, const Tensor &of_call) const {
    return in_reference_order(registered.record, t, problem.dims, of_call);
}

Tensor Case::as_called(const TensorSpec &t, const Tensor &of_signature) const {
    const std::vector<int> order = order_in_call(registered.record, t, problem.dims);
    return order.empty() ? of_signature : of_signature.transpose(order).copy();
}

void Case::read_input(size_t k) {
    const TensorSpec &t = registered.signature.inputs[k];
    problem.tensors[t.name] = array_of(as_in_signature(t, in[k]));
}

Shape Case::output_shape(size_t k) const {
    const TensorSpec &t = registered.signature.outputs[k];
    return in_order(problem.tensors.at(t.name).shape,
                    order_in_call(registered.record, t, problem.dims));
}

std::string kernel_text(const Case &c) {
    if (c.registered.record.form == Form::composite) return "";
    const std::vector<OperandMeta> metas = metas_of(c.in);
    try {
        const KernelEntry *k = make_plan(c.registered, metas, c.attrs).kernel;
        return k ? k->dtypes + "/" + name_of(k->isa) + (k->variant.empty() ? "" : "/" + k->variant)
                 : "";
    } catch (const Error &) {
        return "";  // the call itself will throw the reason
    }
}

void Case::fit_forward_outputs(const Op &op) {
    const OpPtr forward = op_table().make(forward_name(op.name));
    if (!forward || !op.sig.differentiates(forward->sig)) return;
    Problem f = problem;
    for (auto &t : forward->sig.inputs)
        if (!f.tensors.count(t.name)) return;
    for (auto &t : forward->sig.outputs)
        f.tensors[t.name] = Array(reference_shape(*forward, t, f.dims));
    forward->reference(f);
    for (size_t k = 0; k < op.sig.inputs.size(); k++) {
        for (auto &t : forward->sig.outputs) {
            if (t.name == op.sig.inputs[k].name) {
                in[k] = as_called(t, tensor_of(f.tensors[t.name], in[k].dtype()));
                read_input(k);
            }
        }
    }
}

namespace {

double largest_of(DType t) {
    return t == DType::f64   ? 1.7976931348623157e308
           : t == DType::f32 ? 3.4028234663852886e38
           : t == DType::f16 ? 65504
                             : 3.3895313892515355e38;
}

double wrapped(double v, DType t) {  // integer arithmetic is modular
    const auto i = int64_t(v);
    return t == DType::i8    ? double(int8_t(i))
           : t == DType::u8  ? double(uint8_t(i))
           : t == DType::i32 ? double(int32_t(i))
                             : v;
}

// Constants of the rounding to a float dtype and in its kernels' arithmetic.
struct Rounding {
    Rounding(DType t, Magnitudes magnitudes)
        : eps(t == DType::f64   ? 0x1p-52
              : t == DType::f32 ? 0x1p-23
              : t == DType::f16 ? 0x1p-10
                                : 0x1p-7),
          arithmetic_eps(t == DType::f64 ? 0x1p-52 : 0x1p-23), tiny(t == DType::f64   ? 0x1p-1022
                                                                    : t == DType::f16 ? 0x1p-14
                                                                                      : 0x1p-126),
          is_double(t == DType::f64) {
        least_overflowing = largest_of(t) * (1 - eps);
        if (magnitudes == Magnitudes::usual) return;
        least_overflowing *= 0x1p-24;
        if (t != DType::f16) tiny *= is_double ? 0x1p60 : 0x1p40;
    }

    double eps;                    // one ULP of 1
    double arithmetic_eps;         // the same of the arithmetic: 16-bit floats compute in f32
    double tiny;                   // the least normal number, below which errors are absolute
    double least_overflowing = 0;  // results of at least this magnitude may be infinite
    bool is_double;
};

double largest_finite(const std::vector<double> &values) {
    double largest = 0;
    for (double w : values)
        if (std::isfinite(w)) largest = std::max(largest, std::fabs(w));
    return largest;
}

// Returns the error that the contract allows a finite result. `size` is the magnitude that the
// contract measures errors against.
double allowed_error(double want, double size, double ulps, const Rounding &r) {
    double allowed = ulps * r.arithmetic_eps * std::max(size, r.tiny);
    // One rounding to 16 bits.
    if (r.eps > r.arithmetic_eps) allowed += 0.5 * r.eps * std::max(std::fabs(want), r.tiny) * 1.01;
    // The reference's own error, which is in double too.
    if (r.is_double) allowed += 4 * r.eps * std::max(size, r.tiny);
    return allowed;
}

// Compares the elements of one output with the expected ones.
class OutputComparison {
public:
    OutputComparison(const Contract &contract, const Rounding &rounding, DType dtype,
                     const Array &want, const Array *abs_sum)
        : contract_(contract), dtype_(dtype), rounding_(rounding), want_(want), abs_sum_(abs_sum),
          largest_want_(largest_finite(want.v)) {}

    // Returns the error of element i over what the contract allows; infinite for a wrong NaN, Inf,
    // integer or bool.
    double error_ratio(size_t i, double got) const {
        const double want = want_.v[i];
        if (is_integer(dtype_)) return got == wrapped(want, dtype_) ? 0 : INFINITY;
        if (!is_float(dtype_)) return got == want ? 0 : INFINITY;
        if (abs_sum_ && std::isinf(abs_sum_->v[i])) return 0;  // lost in an intermediate value
        if (std::isnan(want) || std::isnan(got))
            return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
        if (std::isinf(want) || std::isinf(got)) {
            const bool overflows = std::isinf(got) && std::fabs(want) > rounding_.least_overflowing;
            return got == want || overflows ? 0 : INFINITY;
        }
        return got == want ? 0 : std::fabs(got - want) / finite_bound(i);
    }

    // Returns the value of element i, and the largest error that a result may have there.
    std::pair<double, double> expected(size_t i) const {
        const double want = is_integer(dtype_) ? wrapped(want_.v[i], dtype_) : want_.v[i];
        if (!is_float(dtype_)) return {want, 0};
        if (abs_sum_ && std::isinf(abs_sum_->v[i])) return {want, INFINITY};
        if (!std::isfinite(want)) return {want, 0};
        return {want, std::fabs(want) > rounding_.least_overflowing ? INFINITY : finite_bound(i)};
    }

private:
    double finite_bound(size_t i) const {
        return allowed_error(want_.v[i], size(i), contract_.ulps, rounding_);
    }
    double size(size_t i) const {
        if (contract_.measure == Contract::elementwise) return std::fabs(want_.v[i]);
        if (contract_.measure == Contract::normwise || !abs_sum_) return largest_want_;
        return abs_sum_->v[i];
    }

    const Contract &contract_;
    DType dtype_;
    Rounding rounding_;
    const Array &want_;
    const Array *abs_sum_;  // null: the reference has none
    double largest_want_;
};

OutputComparison comparison_of(const OpRecord &op, const std::string &output, DType dtype,
                               const Problem &expected, Magnitudes magnitudes) {
    const auto abs_sum = expected.abs_sum.find(output);
    return {op.contract, Rounding(dtype, magnitudes), dtype, expected.tensors.at(output),
            abs_sum == expected.abs_sum.end() ? nullptr : &abs_sum->second};
}

}  // namespace

std::string compare(const OpRecord &op, const std::string &output, const Tensor &got,
                    const Problem &expected, Magnitudes magnitudes) {
    const Array &want = expected.tensors.at(output);
    if (!(got.shape() == want.shape))
        return output + " has shape " + got.shape().text() + ", expected " + want.shape.text();
    const OutputComparison comparison = comparison_of(op, output, got.dtype(), expected,
                                                      magnitudes);
    const std::vector<double> v = got.to_vector<double>();
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < v.size(); i++) {
        const double ratio = comparison.error_ratio(i, v[i]);
        if (ratio > worst) {
            worst = ratio;
            at = i;
        }
    }
    if (worst <= 1) return "";
    std::ostringstream s;
    s.precision(9);
    s << output << "[" << at << "] of " << want.shape.text() << " is " << v[at] << ", expected "
      << want.v[at] << ": " << worst << " times the bound of " << op.contract.ulps << " ulps";
    return s.str();
}

ExpectedOutput expected_output(const OpRecord &op, const std::string &output, DType dtype,
                               const Problem &solved) {
    const OutputComparison comparison = comparison_of(op, output, dtype, solved, Magnitudes::usual);
    ExpectedOutput all;
    for (size_t i = 0; i < solved.tensors.at(output).v.size(); i++) {
        const auto [value, allowed] = comparison.expected(i);
        all.values.push_back(value);
        all.allowed.push_back(allowed);
    }
    return all;
}

std::string compare_specials(const std::string &output, const Tensor &got, const Problem &expected,
                             bool finite_stays) {
    const std::vector<double> v = got.to_vector<double>();
    const Array &want = expected.tensors.at(output);
    if (!is_float(got.dtype())) {
        for (size_t i = 0; i < v.size(); i++) {
            if (v[i] != wrapped(want.v[i], got.dtype())) {
                return output + "[" + std::to_string(i) + "] is " + std::to_string(v[i]) +
                       ", expected " + std::to_string(want.v[i]);
            }
        }
        return "";
    }
    const auto terms = expected.abs_sum.find(output);
    const double largest = 0.999 * largest_of(got.dtype());
    for (size_t i = 0; i < v.size(); i++) {
        const double w = want.v[i];
        const double size = std::fmax(std::fabs(w),
                                      terms == expected.abs_sum.end() ? 0 : terms->second.v[i]);
        // The result or an intermediate value overflows; in double it is still finite.
        const bool overflow = size > largest;
        const bool nan_differs = std::isnan(v[i]) != std::isnan(w) && !overflow;
        const bool made_inf = finite_stays && std::isinf(v[i]) && std::isfinite(w) && !overflow;
        const bool inf_differs = (std::isinf(w) && v[i] != w && !std::isnan(v[i])) || made_inf;
        if (nan_differs || inf_differs) {
            return output + "[" + std::to_string(i) + "] is " + std::to_string(v[i]) +
                   ", expected " + std::to_string(w);
        }
    }
    return "";
}

}  // namespace halyard::check
