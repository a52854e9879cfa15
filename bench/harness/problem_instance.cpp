#include "bench/harness/problem_instance.h"

#include "bench/harness/case.h"
#include "bench/harness/op_call.h"
#include "primitives/library.h"
#include "primitives/primitive.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/op/names.h"

namespace halyard::bench {
namespace {

uint64_t next(uint64_t &state) {  // SplitMix64
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Returns a tensor of random values: integers in [0, end) if `end` > 0, floats in [least, least +
// 4).
Tensor filled(const Shape &shape, DType t, int64_t end, double least, uint64_t seed) {
    const Tensor x = Tensor::empty(shape, t);
    const int64_t n = x.elements();
    visit_dtype(t, [&](auto zero) {
        using T = decltype(zero);
        T *to = static_cast<T *>(x.raw());
        for (int64_t i = 0; i < n; i++) {
            const uint64_t r = next(seed) >> 11;
            if constexpr (std::is_same_v<T, bool>)
                to[i] = r & 1;
            else if constexpr (std::is_integral_v<T>) {
                to[i] = (T)(end > 0 ? int64_t(r % uint64_t(end))
                                    : int64_t(r % 41) - (std::is_unsigned_v<T> ? 0 : 20));
            } else if constexpr (std::is_same_v<T, double>)
                to[i] = double(r) * 0x1p-51 + least;
            else
                to[i] = T(float(double(r) * 0x1p-51 + least));
        }
    });
    return x;
}

// Replaces the inputs of a gradient op that are outputs of the forward op by what that op computes:
// random ones don't occur in practice.
void put_forward_outputs(const RegisteredOp &op, const Attrs &attrs, std::vector<Tensor> &in) {
    const RegisteredOp *forward = library().find(forward_name(op.record.name));
    if (!forward || !op.signature.differentiates(forward->signature)) return;
    auto place = [&](const std::string &tensor) {
        for (size_t k = 0; k < in.size(); k++)
            if (op.signature.inputs[k].name == tensor) return int(k);
        return -1;
    };
    std::vector<Tensor> x;
    for (auto &t : forward->signature.inputs) {
        if (place(t.name) < 0) return;
        x.push_back(in[size_t(place(t.name))]);
    }
    bool needed = false;
    for (auto &t : forward->signature.outputs)
        needed |= place(t.name) >= 0;
    if (!needed) return;
    const auto y = Primitive(*forward, Attrs(forward->record, op.record, attrs)).run(x);
    for (size_t k = 0; k < y.size(); k++) {
        if (const int at = place(forward->signature.outputs[k].name);
            at >= 0 && in[size_t(at)].shape() == y[k].shape())
            in[size_t(at)] = y[k].to(in[size_t(at)].dtype());
    }
}

}  // namespace

std::vector<std::string> problems_of(const OpRecord &op) {
    std::vector<std::string> all = op.bench;
    all.insert(all.end(), op.samples.begin(), op.samples.end());
    return all;
}

ProblemInstance::ProblemInstance(const RegisteredOp &which, const std::string &problem,
                                 const std::string &set, const std::vector<std::string> &more)
    : op(which), text(problem),
      attrs(which.record, check::parse_sample(which.record, problem).attrs) {
    const check::Sample s = check::parse_sample(op.record, text);
    const std::vector<DType> dtypes = dtypes_from(op, set);
    std::map<std::string, std::string> given = s.attrs;
    for (auto &m : more)
        given.insert(assignment(op.record.name, m));
    const auto &inputs = op.signature.inputs;
    for (auto &a : op.record.attrs) {
        if (a.kind == AttrKind::dtype && a.name == "dtype")
            given["dtype"] = name_of(dtypes[inputs.size()]);
    }
    attrs = Attrs(op.record, given);
    dims = s.dims;
    bind_attributes(attrs, dims);
    bind_derived(op.record, dims);
    check::require_dimensions(op.signature, dims, text);
    for (size_t k = 0; k < inputs.size(); k++) {
        const Shape shape = check::callers_shape(op.record, inputs[k], dims);
        const auto let = [&](const std::string &what, int64_t otherwise) {  // as in case.cpp
            const auto found = dims.find(inputs[k].name + what);
            return found == dims.end() ? otherwise : found->second;
        };
        in.push_back(filled(shape, dtypes[k],
                            let("_end", is_type_variable(inputs[k].dtype) ? 0 : 7),
                            double(let("_least", -2)), k + 1));
    }
    put_forward_outputs(op, attrs, in);
}

std::vector<OperandMeta> metas_of(const ProblemInstance &t) {
    std::vector<OperandMeta> metas;
    for (const Tensor &x : t.in)
        metas.push_back(meta_of(x));
    return metas;
}

std::vector<Tensor> outputs_of(const ProblemInstance &t) {
    if (t.op.record.form == Form::composite) return Primitive(t.op, t.attrs).run(t.in);
    std::vector<Tensor> out;
    for (auto &o : make_plan(t.op, metas_of(t), t.attrs).outputs)
        out.push_back(Tensor::empty(o.shape, o.dtype));
    return out;
}

}  // namespace halyard::bench
