#include "bench/harness/cost_probe.h"

#include <algorithm>
#include <chrono>

#include "bench/harness/op_call.h"
#include "primitives/library.h"
#include "registry/dispatch/dispatch.h"

namespace halyard::bench {
namespace {

constexpr int rounds = 9;
constexpr double seconds_each = 0.003;  // in each round

using Task = std::function<void()>;

double seconds_of(const Task &task, int64_t times) {
    const auto from = std::chrono::steady_clock::now();
    for (int64_t k = 0; k < times; k++)
        task();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count() /
           double(times);
}

// The least time of each, in rounds A B C A B C.
std::vector<double> least_times(const std::vector<Task> &tasks) {
    std::vector<double> best;
    for (auto &task : tasks) {
        task();
        best.push_back(seconds_of(task, 1));
    }
    for (int round = 0; round < rounds; round++) {
        for (size_t k = 0; k < tasks.size(); k++) {
            best[k] = std::min(
                best[k],
                seconds_of(tasks[k], std::max<int64_t>(1, int64_t(seconds_each / best[k]))));
        }
    }
    return best;
}

Tensor cast(const Tensor &t, DType to) {
    const RegisteredOp &op = library().at("cast");
    return dispatch1(op, {&t, 1},
                     Attrs(op.record, std::map<std::string, std::string>{{"dtype", name_of(to)}}));
}

// The tensors that a plan's kernel sees: those of the call, or their copies.
Tensor as_laid_out(const Tensor &t, const Plan::Buffer &b) {
    return b.copy_order.empty() ? t : gathered(t, b);
}

}  // namespace

CastPlan cast_for(const RegisteredOp &op, DType dtype) {
    CastPlan c;
    c.from = dtype;
    c.key = name_of(dtype);
    for (auto &set : op.record.dtypes)
        c.there += (c.there.empty() ? "" : " ") + set;
    const bool half = dtype == DType::f16 || dtype == DType::bf16;
    for (const std::string wider : {"f32", "f64"}) {
        for (auto &set : op.record.dtypes) {
            if (c.instead.empty() && (half || dtype == DType::f32) && wider != c.key &&
                (set == wider || set.starts_with(wider + ",")))
                c.instead = set;
        }
    }
    if (c.instead.empty())
        throw DTypeError(op.record.name, "no kernels for " + c.key + ", there are " + c.there);
    c.to = dtype_of(c.instead.substr(0, c.instead.find(',')));
    const std::vector<DType> dtypes = dtypes_from(op, c.instead);
    const size_t inputs = op.signature.inputs.size();
    for (size_t k = 0; k < dtypes.size(); k++) {
        const TensorSpec &t = k < inputs ? op.signature.inputs[k]
                                         : op.signature.outputs[k - inputs];
        if (is_type_variable(t.dtype) && dtypes[k] == c.to)
            (k < inputs ? c.inputs : c.outputs).push_back(k < inputs ? k : k - inputs);
    }
    return c;
}

CallCosts measure_costs(const Explanation &e, std::span<const Tensor> in, const Attrs &attrs,
                        const CastPlan *c) {
    if (e.chosen() < 0) {
        throw DispatchError(e.plan.op->record.name,
                            "no kernel takes this call, so it has no price");
    }
    std::vector<Tensor> wide(in.begin(), in.end());
    std::vector<Tensor> from, out, to;
    if (c) {
        for (size_t k : c->inputs)
            wide[k] = cast(in[k], c->to);
    }
    for (size_t k = 0; k < wide.size(); k++)
        from.push_back(as_laid_out(wide[k], e.plan.inputs[k]));
    for (auto &o : e.plan.outputs) {
        out.push_back(Tensor::zeros(o.shape, o.dtype));
        to.push_back(as_laid_out(out.back(), o));
    }
    CallCosts p;
    p.candidates.resize(e.plan.candidates.size());
    p.copies.resize(e.copies.size());
    std::vector<Task> tasks;
    std::vector<double *> results;
    const auto add = [&](double &result, Task task) {
        tasks.push_back(std::move(task));
        results.push_back(&result);
    };
    for (size_t k = 0; k < p.candidates.size(); k++) {
        if (!e.plan.candidates[k].refused.empty()) continue;
        // the kernel on tensors that lie as it wants them
        auto alone = std::make_shared<Plan>(e.plan);
        alone->kernel = e.plan.candidates[k].kernel;
        for (auto &b : alone->inputs)
            b.copy_order.clear();
        for (auto &b : alone->outputs)
            b.copy_order.clear();
        add(p.candidates[k], [alone, &from, &to, &attrs] { run_plan(*alone, from, attrs, to); });
    }
    for (size_t k = 0; k < e.copies.size(); k++) {
        const size_t t = e.copies[k].tensor;
        if (e.copies[k].input)
            add(p.copies[k], [&, t] { as_laid_out(wide[t], e.plan.inputs[t]); });
        else {
            add(p.copies[k], [&, t] { out[t].assign(as_laid_out(out[t], e.plan.outputs[t])); });
        }  // there, for the kernel to write into, and back
    }
    std::vector<double> casts(c ? c->inputs.size() + c->outputs.size() : 0);
    for (size_t k = 0; k < casts.size(); k++) {
        const bool there = k < c->inputs.size();
        if (there)
            add(casts[k], [&, t = c->inputs[k]] { cast(in[t], c->to); });
        else
            add(casts[k], [&, t = c->outputs[k - c->inputs.size()]] { cast(out[t], c->from); });
    }
    const std::vector<double> times = least_times(tasks);
    for (size_t k = 0; k < times.size(); k++)
        *results[k] = times[k];
    p.kernel = p.call = p.candidates[size_t(e.chosen())];
    for (double s : p.copies)
        p.call += s;
    for (double s : casts) {
        p.casts += s;
        p.call += s;
    }
    for (double s : p.candidates)
        if (s > 0) p.best = p.best > 0 ? std::min(p.best, s) : s;
    return p;
}

}  // namespace halyard::bench
