#include "bench/harness/expected.h"

#include <algorithm>
#include <cmath>

#include "bench/harness/case.h"
#include "dsl/work.h"
#include "primitives/primitive.h"

namespace halyard::bench {
namespace {

constexpr double max_operations = 2e8;  // the limit for a reference: about a second

std::vector<Tensor> in_double(const std::vector<Tensor> &in, bool absolute) {
    std::vector<Tensor> wide;
    for (const Tensor &t : in) {
        wide.push_back(is_float(t.dtype()) ? t.to(DType::f64) : t);
        if (!absolute || !is_float(t.dtype())) continue;
        double *v = wide.back().data<double>();
        for (int64_t i = 0; i < t.elements(); i++)
            v[i] = std::fabs(v[i]);
    }
    return wide;
}

// Returns a call's tensor as a reference has it.
Array values_of(const RegisteredOp &op, const TensorSpec &t, const Dims &dims, const Tensor &x) {
    return check::array_of(check::in_reference_order(op.record, t, dims, x));
}

// Returns the call with its outputs and abs_sum as the reference computes them.
Problem solved(const ProblemInstance &t) {
    const OpPtr op = op_table().make(t.op.record.name);
    Problem p;
    p.dims = t.dims;
    for (size_t k = 0; k < t.in.size(); k++)
        if (t.op.signature.inputs[k].dtype == "T") p.dtype = t.in[k].dtype();
    check::bind_values(t.op.record, t.attrs, p);
    for (size_t k = 0; k < t.in.size(); k++) {
        const TensorSpec &x = t.op.signature.inputs[k];
        p.tensors[x.name] = values_of(t.op, x, t.dims, t.in[k]);
    }
    for (const TensorSpec &y : t.op.signature.outputs) {
        const bool sets_shape = t.op.record.form == Form::composite;
        p.tensors[y.name] = sets_shape ? Array()
                                       : Array(check::reference_shape(t.op.record, y, t.dims));
    }
    op->reference(p);
    return p;
}

// Returns true if the op applied to absolute values gives its abs_sum, or more than half of it, as
// it does for sums of products. A softmax of absolute values is another one. A sample shows it.
bool sums_absolute_values(const RegisteredOp &op, const std::string &f64) {
    const std::vector<std::string> &samples = op.record.samples;
    const ProblemInstance t(op, samples[std::min<size_t>(1, samples.size() - 1)], f64);
    const Problem p = solved(t);
    const std::vector<Tensor> sums = Primitive(op, t.attrs).run(in_double(t.in, true));
    for (size_t k = 0; k < sums.size(); k++) {
        const auto abs_sum = p.abs_sum.find(op.signature.outputs[k].name);
        if (abs_sum == p.abs_sum.end()) continue;
        const std::vector<double> found = sums[k].to_vector<double>();
        for (size_t i = 0; i < found.size(); i++)
            if (found[i] < 0.5 * abs_sum->second.v[i]) return false;
    }
    return true;
}

}  // namespace

Expected::Expected(const ProblemInstance &t, const std::vector<Tensor> &out) : op_(t.op) {
    double work = 0;
    for (auto *list : {&t.in, &out}) {
        for (const Tensor &x : *list)
            work = std::max(work, double(x.elements()));
    }
    try {
        work = std::max(work, double(work_of(op_table(), op_.record.name, t.dims).operations()));
    } catch (const Error &) {
    }  // without a count, the work is that of the tensors
    if (work <= max_operations || !from_doubles(t)) from_reference(t);
}

void Expected::from_reference(const ProblemInstance &t) {
    problem_ = solved(t);
    source_ = "the reference";
}

bool Expected::from_doubles(const ProblemInstance &t) {
    const auto &dtypes = op_.record.dtypes;
    const auto f64 = std::ranges::find_if(dtypes, [](auto &d) { return d.starts_with("f64"); });
    if (f64 == dtypes.end()) return true;  // nothing is known
    const bool products = op_.record.contract.measure == Contract::products;
    if (products && !sums_absolute_values(op_, *f64)) return false;
    const Primitive primitive(op_, t.attrs);
    const auto exact = primitive.run(in_double(t.in, false));
    problem_.dims = t.dims;
    const auto &outputs = op_.signature.outputs;
    for (size_t k = 0; k < exact.size(); k++)
        problem_.tensors[outputs[k].name] = values_of(op_, outputs[k], t.dims, exact[k]);
    // The op applied to |a| and |b| gives the sums of |a||b|.
    if (products) {
        const auto sums = primitive.run(in_double(t.in, true));
        for (size_t k = 0; k < sums.size(); k++)
            problem_.abs_sum[outputs[k].name] = values_of(op_, outputs[k], t.dims, sums[k]);
    }
    source_ = "the f64 kernel";
    return true;
}

Expected::Accuracy Expected::judge(const std::vector<Tensor> &out) const {
    Accuracy v;
    for (size_t k = 0; k < out.size(); k++) {
        const TensorSpec &y = op_.signature.outputs[k];
        const std::string &name = y.name;
        const Tensor result = check::in_reference_order(op_.record, y, problem_.dims, out[k]);
        const std::string violation = check::compare(op_.record, name, result, problem_);
        if (v.violation.empty()) v.violation = violation;
        const std::vector<double> &want = problem_.tensors.at(name).v;
        const std::vector<double> got = result.to_vector<double>();
        if (want.size() != got.size()) continue;
        if (!is_float(out[k].dtype())) {
            if (!violation.empty()) v.error = INFINITY;
            continue;
        }
        double largest = 0, off = 0;
        for (size_t i = 0; i < want.size(); i++) {
            if (std::isfinite(want[i])) {
                largest = std::max(largest, std::fabs(want[i]));
                off = std::max(off, std::fabs(got[i] - want[i]));
            }
            if (std::isnan(got[i]) && !std::isnan(want[i])) off = INFINITY;
        }
        v.error = std::max(v.error, largest > 0 ? off / largest : off);
    }
    return v;
}

}  // namespace halyard::bench
