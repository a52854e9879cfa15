#include "bench/harness/cost_probe.h"

#include <algorithm>
#include <chrono>

#include "bench/harness/op_call.h"
#include "primitives/library.h"
#include "registry/base/text.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/run_plan.h"

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

// Returns the least time of each task, in rounds A B C A B C.
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

// Returns the tensor as the plan's kernel takes it: the caller's, or a copy in the kernel's layout.
Tensor as_laid_out(const Tensor &t, const Plan::Buffer &b) {
    return b.copy_order.empty() ? t : gathered(t, b);
}

// Returns the narrowest of the op's sets of dtypes whose first one holds every value of `dtype`, or
// "" if there is none.
std::string wider_set(const OpRecord &op, DType dtype) {
    if (dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32) return "";
    for (const std::string wider : {"f32", "f64"}) {
        if (wider == name_of(dtype)) continue;
        for (auto &set : op.dtypes)
            if (set == wider || set.starts_with(wider + ",")) return set;
    }
    return "";
}

}  // namespace

CastPlan cast_for(const RegisteredOp &op, DType dtype) {
    CastPlan c;
    c.from = dtype;
    c.key = name_of(dtype);
    c.there = join(op.record.dtypes, " ");
    c.instead = wider_set(op.record, dtype);
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

namespace {

// The parts of a call, and the tensors that they work on.
class CallProbe {
public:
    CallProbe(const Explanation &e, std::span<const Tensor> in, const Attrs &attrs,
              const CastPlan *casts)
        : explanation_(e), attrs_(attrs), in_(in), wide_(in.begin(), in.end()) {
        if (casts) {
            for (size_t k : casts->inputs)
                wide_[k] = cast(in[k], casts->to);
        }
        for (size_t k = 0; k < wide_.size(); k++)
            from_.push_back(as_laid_out(wide_[k], e.plan.inputs[k]));
        for (auto &o : e.plan.outputs) {
            out_.push_back(Tensor::zeros(o.shape, o.dtype));
            to_.push_back(as_laid_out(out_.back(), o));
        }
        costs_.candidates.resize(e.plan.candidates.size());
        costs_.copies.resize(e.copies.size());
        add_candidates();
        add_copies();
        if (casts) add_casts(*casts);
    }

    CallCosts measure() {
        const std::vector<double> times = least_times(tasks_);
        for (size_t k = 0; k < times.size(); k++)
            *results_[k] = times[k];
        CallCosts &c = costs_;
        c.kernel = c.call = c.candidates[size_t(explanation_.selected())];
        for (double s : c.copies)
            c.call += s;
        for (double s : cast_seconds_) {
            c.casts += s;
            c.call += s;
        }
        for (double s : c.candidates)
            if (s > 0) c.best = c.best > 0 ? std::min(c.best, s) : s;
        return c;
    }

private:
    void add(double &result, Task task) {
        tasks_.push_back(std::move(task));
        results_.push_back(&result);
    }

    // Adds each accepted kernel, on tensors that already have the layout it requires.
    void add_candidates() {
        const Plan &plan = explanation_.plan;
        for (size_t k = 0; k < plan.candidates.size(); k++) {
            if (!plan.candidates[k].rejection.empty()) continue;
            auto single = std::make_shared<Plan>(plan);
            single->kernel = plan.candidates[k].kernel;
            for (auto &b : single->inputs)
                b.copy_order.clear();
            for (auto &b : single->outputs)
                b.copy_order.clear();
            add(costs_.candidates[k], [this, single] { run_plan(*single, from_, attrs_, to_); });
        }
    }

    void add_copies() {
        const Plan &plan = explanation_.plan;
        for (size_t k = 0; k < explanation_.copies.size(); k++) {
            const size_t t = explanation_.copies[k].tensor;
            if (explanation_.copies[k].input) {
                add(costs_.copies[k], [this, &plan, t] { as_laid_out(wide_[t], plan.inputs[t]); });
            } else {
                // Copied for the kernel to write into, and back.
                add(costs_.copies[k],
                    [this, &plan, t] { out_[t].assign(as_laid_out(out_[t], plan.outputs[t])); });
            }
        }
    }

    void add_casts(const CastPlan &casts) {
        cast_seconds_.resize(casts.inputs.size() + casts.outputs.size());
        size_t next = 0;
        for (size_t t : casts.inputs)
            add(cast_seconds_[next++], [this, t, to = casts.to] { cast(in_[t], to); });
        for (size_t t : casts.outputs)
            add(cast_seconds_[next++], [this, t, to = casts.from] { cast(out_[t], to); });
    }

    const Explanation &explanation_;
    const Attrs &attrs_;
    std::span<const Tensor> in_;           // the caller's
    std::vector<Tensor> wide_;             // cast
    std::vector<Tensor> from_, out_, to_;  // in the kernel's layout; outputs before and in it
    CallCosts costs_;
    std::vector<double> cast_seconds_;
    std::vector<Task> tasks_;
    std::vector<double *> results_;
};

}  // namespace

CallCosts measure_costs(const Explanation &e, std::span<const Tensor> in, const Attrs &attrs,
                        const CastPlan *c) {
    if (e.selected() < 0) {
        throw DispatchError(e.plan.op->record.name,
                            "no kernel takes this call, so it has no price");
    }
    return CallProbe(e, in, attrs, c).measure();
}

}  // namespace halyard::bench
