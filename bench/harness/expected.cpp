#include "bench/harness/expected.h"

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

}  // namespace

Expected::Expected(const ProblemInstance &t, const std::vector<Tensor> &out) : op_(t.op) {
    for (size_t k = 0; k < out.size(); k++)
        problem_.tensors[op_.signature.outputs[k].name] = Array(out[k].shape());
    double work = 0;
    for (auto *list : {&t.in, &out}) {
        for (const Tensor &x : *list)
            work = std::max(work, double(x.elements()));
    }
    try {
        work = std::max(work, double(work_of(op_table(), op_.record.name, t.dims).operations()));
    } catch (const Error &) {
    }  // without a count, the work is that of the tensors
    if (work <= max_operations)
        from_reference(t);
    else
        from_doubles(t);
}

void Expected::from_reference(const ProblemInstance &t) {
    const OpPtr op = op_table().make(op_.record.name);
    problem_.dims = t.dims;
    for (size_t k = 0; k < t.in.size(); k++)
        if (op_.signature.inputs[k].dtype == "T") problem_.dtype = t.in[k].dtype();
    check::bind_values(op_.record, t.attrs, problem_);
    for (size_t k = 0; k < t.in.size(); k++)
        problem_.tensors[op_.signature.inputs[k].name] = check::array_of(t.in[k]);
    op->reference(problem_);
    source_ = "the reference";
}

void Expected::from_doubles(const ProblemInstance &t) {
    bool doubles = false;
    for (auto &d : op_.record.dtypes)
        doubles |= d.starts_with("f64");
    if (!doubles) return;
    const Primitive primitive(op_, t.attrs);
    const auto exact = primitive.run(in_double(t.in, false));
    for (size_t k = 0; k < exact.size(); k++)
        problem_.tensors[op_.signature.outputs[k].name] = check::array_of(exact[k]);
    // The op applied to |a| and |b| gives the sums of |a||b|.
    if (op_.record.contract.measure == Contract::products) {
        const auto sums = primitive.run(in_double(t.in, true));
        for (size_t k = 0; k < sums.size(); k++)
            problem_.abs_sum[op_.signature.outputs[k].name] = check::array_of(sums[k]);
    }
    source_ = "the f64 kernel";
}

Expected::Accuracy Expected::judge(const std::vector<Tensor> &out) const {
    Accuracy v;
    for (size_t k = 0; k < out.size(); k++) {
        const std::string &name = op_.signature.outputs[k].name;
        const std::string violation = check::compare(op_.record, name, out[k], problem_);
        if (v.violation.empty()) v.violation = violation;
        const std::vector<double> &want = problem_.tensors.at(name).v;
        const std::vector<double> got = out[k].to_vector<double>();
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
