#include "bench/harness/case_list.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "bench/harness/op_call.h"
#include "bench/harness/peers.h"
#include "bench/harness/progress.h"
#include "bench/harness/python_peers.h"
#include "bench/roofs/host_memory.h"
#include "dsl/kernel.h"
#include "primitives/primitive.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/choice.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "registry/gpu/gpu.h"

namespace halyard::bench {
namespace {

std::vector<Tensor> empty_like(const std::vector<Tensor> &all) {
    std::vector<Tensor> out;
    for (const Tensor &t : all)
        out.push_back(Tensor::empty(t.shape(), t.dtype()));
    return out;
}

// Returns the error, relative to the largest element, up to which a peer still computes the same
// function. Other libraries promise less than our contracts do.
double peer_error(const std::vector<Tensor> &out) {
    double epsilon = 0;
    for (const Tensor &y : out) {
        if (is_float(y.dtype())) {
            epsilon = y.dtype() == DType::bf16  ? 0x1p-7
                      : y.dtype() == DType::f16 ? 0x1p-10
                      : y.dtype() == DType::f64 ? 0x1p-52
                                                : 0x1p-23;
        }
    }
    return 64 * epsilon;
}

// The tensors of a call; with --cold several copies of them, more than any cache holds.
struct Tensors {
    std::vector<Tensor> in, out;
};
std::vector<Tensors> copies_of(const ProblemInstance &t, const std::vector<Tensor> &like,
                               bool cold) {
    std::vector<Tensors> all = {{t.in, empty_like(like)}};
    if (!cold) return all;
    constexpr size_t max_copies = 1024;
    size_t bytes = 1;
    for (auto *list : {&t.in, &like}) {
        for (const Tensor &x : *list)
            bytes += x.bytes();
    }
    std::string reason;
    const int64_t working_set = roofs::memory_working_set(roofs::read_host_memory(), 1, reason);
    if (working_set == 0) throw AttrError("bench", "--cold: " + reason);
    const size_t needed = size_t(working_set) / bytes + 1;
    while (all.size() < std::min(needed, max_copies)) {
        std::vector<Tensor> in;
        for (const Tensor &x : t.in)
            in.push_back(x.copy());
        all.push_back({in, empty_like(like)});
    }
    return all;
}

// Returns a function that calls `runs` in turn, one for each call.
std::function<void()> round_robin(std::vector<std::function<void()>> runs) {
    if (runs.size() == 1) return std::move(runs[0]);
    return [runs = std::move(runs), next = std::make_shared<size_t>(0)] {
        runs[(*next)++ % runs.size()]();
    };
}

struct KernelCandidate {
    KernelEntry kernel;
    std::string label;
};

std::string label_of(const KernelEntry &k) {
    return (k.variant.empty() ? "" : k.variant + "/") + name_of(k.isa);
}

// Returns true if the selection includes the label. "chosen" of --compare is the dispatched kernel.
bool is_selected(const Selection &s, const std::string &label, bool dispatched) {
    if (s.only.empty()) return true;
    const auto has = [&](const std::string &l) {
        return std::find(s.only.begin(), s.only.end(), l) != s.only.end();
    };
    return has(label) || (dispatched && has("chosen"));
}

// Returns kernels that differ from `k` in one tunable each, for every value that isn't the default.
std::vector<KernelCandidate> other_tunables(const RegisteredOp &op, const KernelEntry &k,
                                            const Selection &s) {
    std::vector<KernelCandidate> all;
    Instance i;
    i.dtypes = k.dtypes;
    i.variant = k.variant;
    i.isa = k.isa;
    const Kernel default_kernel(op_table().make(op.record.name), i);
    for (auto &[name, values] : default_kernel.instance.tunables.offered) {
        for (size_t v = 1; v < values.size(); v++) {
            const std::string label = label_of(k) + "/" + name + "=" + std::to_string(values[v]);
            if (!is_selected(s, label, false)) continue;
            Instance other = i;
            other.tunables.chosen[name] = values[v];
            Kernel built(op_table().make(op.record.name), other);
            KernelEntry entry = k;
            entry.fn = built.load();
            entry.lanes = built.lanes;
            entry.tunables = built.instance.tunables.values();
            all.push_back({entry, label});
        }
    }
    return all;
}

// Returns the condition of the kernel's variant, in words.
std::string condition_of(const OpRecord &op, const KernelEntry &k) {
    const VariantSpec *v = find_variant(op, k.variant);
    return v ? "needs " + v->when : "its condition doesn't hold";
}

std::vector<KernelCandidate> candidates_of(const ProblemInstance &t, const std::string &dtypes,
                                           const Selection &s, std::vector<std::string> &rejected) {
    std::vector<KernelCandidate> all;
    if (!s.device.empty() && !s.variant.empty()) return all;  // the variant is one of the device
    const std::string variant = variant_called(t.op.record, s.variant);
    const KernelEntry *dispatched = make_plan(t.op, metas_of(t), t.attrs).kernel;
    for (const KernelEntry &k : t.op.kernels) {
        if (k.backend != "cpu" || k.dtypes != dtypes || k.isa > host_isa() ||
            (s.isa != "all" && isa_of(s.isa) != k.isa) ||
            (s.dispatched_isa && dispatched && dispatched->isa != k.isa))
            continue;
        if (!variant.empty() && k.variant != variant) continue;
        try {
            const Force force(k.isa, k.variant);
            make_plan(t.op, metas_of(t), t.attrs);
        } catch (const DispatchError &) {
            rejected.push_back(label_of(k) + ": " + condition_of(t.op.record, k));
            continue;
        }
        all.push_back({k, label_of(k)});
    }
    if (!s.tunables) return all;
    const size_t defaults = all.size();
    for (size_t i = 0; i < defaults; i++) {
        if (all[i].kernel.isa == all[0].kernel.isa) {
            for (auto &other : other_tunables(t.op, all[i].kernel, s))
                all.push_back(other);
        }
    }
    return all;
}

// Overwrites outputs, so that an earlier result isn't taken for this one's.
void invalidate(const std::vector<Tensor> &out) {
    for (const Tensor &y : out)
        std::memset(y.raw(), 0xFF, y.bytes());
}

// Runs the case once, and sets its accuracy from its outputs and the time of that call.
void judge(BenchmarkCase &s, const ProblemInstance &t, const Expected &expected) {
    check::begin_step(s.label + " of " + t.op.record.name + " '" + t.text + "'");
    set_threads(s.threads);
    const auto begin = std::chrono::steady_clock::now();
    s.run();
    s.first_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (s.computes && expected.known()) s.accuracy = expected.judge(s.out);
    if (s.peer && s.accuracy.error <= peer_error(s.out))
        s.imprecise = std::exchange(s.accuracy.violation, "");
}

// Returns the peers for the problem's call with that many threads, with their accuracy.
std::vector<BenchmarkCase> peer_cases(const ProblemInstance &t, const Selection &s,
                                      const Expected &expected, const std::vector<Tensors> &copies,
                                      int threads, std::vector<std::string> &rejected) {
    std::vector<BenchmarkCase> all;
    const std::string limit = s.isa == "all" ? "" : s.isa;
    std::map<std::string, std::vector<Peer>> peers;
    for (const Tensors &x : copies) {
        for (Peer &p : peers_for({t.op, t.attrs, t.dims, x.in, x.out, threads}, limit))
            peers[p.name].push_back(std::move(p));
    }
    for (auto &[name, same] : peers) {
        if (!is_selected(s, name, false)) continue;
        BenchmarkCase bench_case{name, threads, true, same[0].computes, false, copies[0].out, {}};
        bench_case.isa = s.isa == "all" ? host_isa() : isa_of(s.isa);
        std::vector<std::function<void()>> runs;
        for (Peer &p : same)
            runs.push_back(std::move(p.run));
        bench_case.run = round_robin(std::move(runs));
        invalidate(bench_case.out);
        judge(bench_case, t, expected);
        all.push_back(std::move(bench_case));
    }
    const PeerTask task{t.op, t.attrs, t.dims, t.in, copies[0].out, threads};
    for (BenchmarkCase &bench_case :
         python_peer_cases({s.frameworks, s.python}, task, copies.size(), limit, rejected)) {
        if (!is_selected(s, bench_case.label, false)) continue;
        judge(bench_case, t, expected);
        all.push_back(std::move(bench_case));
    }
    return all;
}

// Returns the case of a GPU's kernel, whose tensors stay on the device. Its calls follow each other
// as a program's do, and its time is that of all of them until the last is done. `forced` names a
// variant; "" lets dispatch choose. Without a kernel for the call it returns nothing, and appends
// the reason to `rejected`.
std::optional<BenchmarkCase> device_case(const ProblemInstance &t, const std::string &device,
                                         const std::string &forced, const Expected &expected,
                                         const std::vector<Tensor> &like, int threads,
                                         std::vector<std::string> &rejected) {
    gpu::Gpu &gpu = gpu::gpu(device);
    const std::string label = (forced.empty() ? "" : forced + "/") + device;
    BenchmarkCase on_gpu{label, threads, false, true, false, empty_like(like), {}};
    on_gpu.device = device;
    std::vector<Tensor> in;
    for (const Tensor &x : t.in)
        in.push_back(x.copy());
    const auto calls = [&t, &gpu, device, forced, in, out = on_gpu.out](int64_t count) {
        const Force force(host_isa(), forced, device);
        const auto begin = std::chrono::steady_clock::now();
        for (int64_t k = 0; k < count; k++)
            dispatch_into(t.op, in, t.attrs, out);
        gpu.synchronize();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    on_gpu.run = [calls] { calls(1); };
    on_gpu.time_itself = [calls](double seconds) {
        constexpr double most_growth = 16;
        int64_t count = 1;
        double taken = calls(count);
        while (taken < seconds) {
            count = int64_t(double(count) * std::clamp(1.2 * seconds / taken, 2.0, most_growth));
            taken = calls(count);
        }
        return taken / double(count);
    };
    try {
        judge(on_gpu, t, expected);
    } catch (const DispatchError &e) {
        rejected.push_back(label + ": " + e.what());
        return std::nullopt;
    }
    return on_gpu;
}

// Returns a case for each of the op's variants on the GPU that takes the call, or for the selected
// one. Dispatch takes the first.
std::vector<BenchmarkCase> device_cases(const ProblemInstance &t, const Selection &s,
                                        const Expected &expected, const std::vector<Tensor> &like,
                                        std::vector<std::string> &rejected) {
    std::vector<BenchmarkCase> all;
    for (const std::string &variant : variants_to_time(t.op.record, s.variant, s.device)) {
        if (auto on_gpu = device_case(t, s.device, variant, expected, like, s.threads[0], rejected))
            all.push_back(*std::move(on_gpu));
    }
    return all;
}

}  // namespace

std::deque<BenchmarkCase> kernel_cases(const ProblemInstance &t, const std::string &dtypes,
                                       const Selection &s, const Expected &expected,
                                       const std::vector<Tensor> &like,
                                       std::vector<std::string> &rejected) {
    std::deque<BenchmarkCase> all;
    const Plan default_plan = make_plan(t.op, metas_of(t), t.attrs);
    const auto candidates = candidates_of(t, dtypes, s, rejected);
    const std::vector<Tensors> copies = copies_of(t, like, s.cold);
    for (int threads : s.threads) {
        for (const KernelCandidate &c : candidates) {
            auto kernel = std::make_shared<KernelEntry>(c.kernel);
            Plan plan;
            {
                const Force force(kernel->isa, kernel->variant);
                plan = make_plan(t.op, metas_of(t), t.attrs);
            }
            if (!rejection_reason(t.op.record, *kernel, plan.dims).empty()) {
                rejected.push_back(c.label + ": not with these picks: " +
                                   rejection_reason(t.op.record, *kernel, plan.dims));
                continue;
            }
            const bool dispatched = default_plan.kernel && default_plan.kernel->fn == kernel->fn;
            if (!is_selected(s, c.label, dispatched)) continue;
            plan.kernel = kernel.get();
            BenchmarkCase bench_case{c.label, threads, false, true, dispatched, copies[0].out, {}};
            bench_case.has_control = dispatched;
            bench_case.isa = kernel->isa;
            std::vector<std::function<void()>> runs;
            // All copies share a plan: one call has the loops for any of the tensors.
            const auto shared = std::make_shared<Plan>(plan);
            for (const Tensors &x : copies) {
                runs.emplace_back(
                    [shared, kernel, &t, x] { run_plan(*shared, x.in, t.attrs, x.out); });
            }
            bench_case.run = round_robin(std::move(runs));
            invalidate(bench_case.out);
            judge(bench_case, t, expected);
            all.push_back(std::move(bench_case));
        }
        if (!s.device.empty() && threads == s.threads[0]) {
            for (BenchmarkCase &on_gpu : device_cases(t, s, expected, like, rejected))
                all.push_back(std::move(on_gpu));
        }
        for (BenchmarkCase &bench_case : peer_cases(t, s, expected, copies, threads, rejected))
            all.push_back(std::move(bench_case));
    }
    return all;
}

std::deque<BenchmarkCase> call_cases(const ProblemInstance &t, const Selection &s,
                                     const Expected &expected, const std::vector<Tensor> &like,
                                     std::vector<std::string> &rejected) {
    std::deque<BenchmarkCase> all;
    const std::vector<Tensors> copies = copies_of(t, like, s.cold);
    for (int threads : s.threads) {
        BenchmarkCase bench_case{"call", threads, false, true, true, {}, {}};
        bench_case.has_control = true;
        bench_case.isa = s.isa == "all" ? host_isa() : isa_of(s.isa);
        const auto primitive = std::make_shared<Primitive>(t.op, t.attrs);
        set_threads(threads);
        bench_case.out = primitive->run(t.in);
        std::vector<std::function<void()>> runs;
        for (const Tensors &x : copies)
            runs.emplace_back([primitive, in = x.in] { primitive->run(in); });
        bench_case.run = round_robin(std::move(runs));
        judge(bench_case, t, expected);
        all.push_back(std::move(bench_case));
        for (BenchmarkCase &peer : peer_cases(t, s, expected, copies, threads, rejected))
            all.push_back(std::move(peer));
    }
    return all;
}

}  // namespace halyard::bench
