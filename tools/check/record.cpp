#include "tools/check/record.h"

#include <algorithm>
#include <cstring>

#include "bench/harness/case.h"
#include "dsl/work.h"
#include "primitives/library.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"

namespace halyard::check {
namespace {

// Replaces the kernel while plans run, and records its arguments.
struct Recorder {
    const Plan *plan = nullptr;
    std::vector<RecordedCall> *calls = nullptr;
};
thread_local Recorder recorder;

RecordedArgument tensor_argument(RecordedArgument::Kind kind, const halide_buffer_t &b) {
    RecordedArgument a;
    a.kind = kind;
    a.type = b.type;
    a.dims.assign(b.dim, b.dim + b.dimensions);
    size_t last = 0;
    for (auto &d : a.dims)
        last += size_t(d.extent - 1) * size_t(d.stride);
    a.bytes.assign((const char *)b.host,
                   (const char *)b.host + (last + 1) * size_t(b.type.bytes()));
    return a;
}

int take_down(void **arguments) {
    RecordedCall call;
    size_t n = 0;
    for (size_t k = 0; k < recorder.plan->inputs.size(); k++) {
        call.push_back(
            tensor_argument(RecordedArgument::input, *(halide_buffer_t *)arguments[n++]));
    }
    for (auto &s : recorder.plan->scalars) {
        RecordedArgument a;
        a.kind = RecordedArgument::scalar;
        a.bytes.resize(s.attr >= 0 ? sizeof(double) : sizeof(int32_t));
        std::memcpy(a.bytes.data(), arguments[n++], a.bytes.size());
        call.push_back(a);
    }
    for (size_t k = 0; k < recorder.plan->outputs.size(); k++) {
        call.push_back(
            tensor_argument(RecordedArgument::output, *(halide_buffer_t *)arguments[n++]));
    }
    recorder.calls->push_back(call);
    return 0;
}

int64_t cost_of(const Op &op, const Case &c) {
    int64_t most = work_of(op_table(), op.name, c.problem.dims).operations();
    for (auto &[name, a] : c.problem.tensors)
        most = std::max(most, int64_t(a.v.size()));
    return most;
}

// Keeps at most `most` calls, the last one among them, at even distances.
void thin(SampleCalls &all, size_t most) {
    const size_t count = all.samples.size();
    if (count <= most) return;
    SampleCalls kept;
    for (size_t k = 1; k <= most; k++) {
        const size_t at = k * count / most - 1;
        kept.samples.push_back(all.samples[at]);
        kept.recording.calls.push_back(std::move(all.recording.calls[at]));
    }
    all.samples = std::move(kept.samples);
    all.recording.calls = std::move(kept.recording.calls);
}

}  // namespace

bool has_empty_tensor(const Case &c) {
    return std::ranges::any_of(c.problem.tensors,
                               [](const auto &tensor) { return tensor.second.v.empty(); });
}

SampleCalls record_samples(const Op &op, Kernel &kernel, const SampleLimits &limits) {
    const Instance &i = kernel.instance;
    SampleCalls all;
    all.recording.library = kernel.library();
    all.recording.symbol = i.symbol(op.name) + "_argv";
    all.recording.on_device = i.backend != "cpu";
    RegisteredOp single = library().at(op.name);
    single.kernels = {{op.name, i.backend, i.dtypes, i.variant, i.isa, kernel.lanes,
                       i.tunables.values(), take_down}};
    std::vector<std::pair<int64_t, const std::string *>> samples;
    for (auto &s : op.samples)
        samples.emplace_back(cost_of(op, Case(op, s, i.dtypes, 12)), &s);
    std::stable_sort(samples.begin(), samples.end(),
                     [](auto &a, auto &b) { return a.first < b.first; });
    for (auto &[cost, sample] : samples) {
        if (cost > (all.samples.empty() ? limits.smallest : limits.work)) break;
        const Case c(op, *sample, i.dtypes, 12);
        // Dispatch never sends empty tensors to a device.
        if (i.backend != "cpu" && has_empty_tensor(c)) continue;
        const Force force(i.isa, i.variant, i.backend);
        const std::vector<OperandMeta> metas = metas_of(c.in);
        try {
            Plan p = make_plan(single, metas, c.attrs);
            p.on_device = false;  // nothing is on a device here
            std::vector<Tensor> out;
            for (auto &o : p.outputs)
                out.push_back(Tensor::zeros(o.shape, o.dtype));
            recorder = {&p, &all.recording.calls};
            run_plan(p, c.in, c.attrs, out);
        } catch (const DispatchError &) {
            continue;  // this variant doesn't accept this sample
        }
        all.samples.resize(all.recording.calls.size(), *sample);
    }
    thin(all, limits.samples);
    return all;
}

}  // namespace halyard::check
