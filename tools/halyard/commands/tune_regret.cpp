// halyard tune --regret: what the selected kernels lose on shapes that weren't tuned for.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "bench/harness/ab_result.h"
#include "bench/harness/benchmark_case.h"
#include "bench/harness/case.h"
#include "bench/harness/machine.h"
#include "bench/harness/op_call.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/choice.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tools/halyard/commands/tune.h"
#include "tools/tune/bucket.h"

namespace halyard::command {
using namespace bench;
namespace {

using Key = std::pair<std::string, std::map<std::string, int64_t>>;  // variant and tunables

// Returns shapes in the buckets of `problems`. Every other one has tails: an extent that is one
// more or one less than whole vectors.
std::vector<std::string> held_out(const OpRecord &op, const std::vector<std::string> &problems,
                                  int count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::string> shapes;
    for (int k = 0; k < count; k++) {
        const check::Sample s = check::parse_sample(op, problems[size_t(k) % problems.size()]);
        std::string text;
        for (auto &[name, extent] : s.dims) {
            const auto least = int64_t(std::bit_floor(uint64_t(std::max<int64_t>(extent, 1))));
            int64_t value = least + int64_t(random() % uint64_t(least));
            if (k / int(problems.size()) % 2 && least >= 32)
                value = std::clamp(value / 16 * 16 + (random() & 1 ? 1 : -1), least, 2 * least - 1);
            text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
        }
        for (auto &[name, value] : s.attrs)
            text += " " + name + "=" + value;
        shapes.push_back(text);
    }
    return shapes;
}

double quantile(std::vector<double> v, double q) {
    std::sort(v.begin(), v.end());
    return v[size_t(double(v.size() - 1) * q + 0.5)];
}

class Regret {
public:
    Regret(const TuneOptions &o, const RegisteredOp &op, tune::Compiler &compiler)
        : o_(o), op_(op), dtypes_(dtype_set(op.record, o.tuner.dtypes)), compiler_(compiler) {
        const std::string path = o.records.empty() ? default_records(op.record.name) : o.records;
        if (std::filesystem::exists(path)) file_ = tune::read_records(path);
        complain(file_.refused);
    }

    void measure(const std::string &shape, int threads);
    void print(int threads);

private:
    struct Loss {
        std::string shape, best;
        double dispatch, records;
    };
    KernelFn built(const Key &key, Isa isa);
    // Returns the kernels to time: every variant with its defaults, and each kernel that won
    // anywhere.
    std::vector<KernelEntry> candidates(const Plan &plan, int threads);

    const TuneOptions &o_;
    const RegisteredOp &op_;
    const std::string dtypes_;
    tune::Compiler &compiler_;
    tune::RecordFile file_;
    std::map<std::string, std::string> algorithms_;
    std::map<Key, KernelFn> built_;
    std::map<std::string, std::vector<Loss>> losses_;  // by bucket
};

KernelFn Regret::built(const Key &key, Isa isa) {
    const auto [at, fresh] = built_.emplace(key, nullptr);
    if (!fresh) return at->second;
    tune::Job job;
    job.op = op_.record.name;
    job.dtypes = dtypes_;
    job.variant = key.first;
    job.isa = isa;
    for (auto &[name, value] : key.second)
        job.tunables[name] = int(value);
    const tune::Built b = compiler_.build(job);
    return at->second = b.error.empty() ? tune::load(b) : nullptr;
}

std::vector<KernelEntry> Regret::candidates(const Plan &plan, int threads) {
    const KernelEntry &selected = *plan.kernel;
    std::vector<KernelEntry> all;
    std::vector<Key> seen;
    auto add = [&](KernelEntry k, const std::map<std::string, int64_t> &tunables) {
        k.tunables = tunables;
        const Key key{k.variant, k.tunables};
        if (std::find(seen.begin(), seen.end(), key) != seen.end() ||
            !rejection_reason(op_.record, k, plan.dims).empty())
            return;
        // The default is rebuilt too, because a kernel's address makes a difference.
        k.fn = built(key, k.isa);
        if (k.fn) {
            seen.push_back(key);
            all.push_back(k);
        }
    };
    add(selected, selected.tunables);
    const tune::Question q{op_.record.name, dtypes_,    name_of(selected.isa), "",
                           threads,         algorithms_};
    for (const KernelEntry &k : op_.kernels) {
        if (k.backend != "cpu" || k.dtypes != dtypes_ || k.isa != selected.isa) continue;
        add(k, k.tunables);
        for (const tune::Record &r : file_.records) {
            const bool same = r.op == q.op && r.dtypes == dtypes_ && r.isa == q.isa &&
                              r.threads == threads && r.variant == k.variant && r.schedule == "own";
            if (same && r.decides() && unusable(r, q).empty())
                add(k, {r.tunables.begin(), r.tunables.end()});
        }
    }
    return all;
}

void Regret::measure(const std::string &shape, int threads) {
    const ProblemInstance t(op_, shape, dtypes_);
    const Plan plan = make_plan(op_, metas_of(t), t.attrs);
    if (!plan.kernel) return;
    const std::vector<Tensor> out = outputs_of(t);
    const Expected expected(t, out);
    const std::string bucket = tune::bucket_of(plan);
    if (algorithms_.empty()) algorithms_ = algorithms_of(op_, dtypes_, plan.kernel->isa, compiler_);
    const tune::Decision d = decide(file_.records,
                                    {op_.record.name, dtypes_, name_of(plan.kernel->isa), bucket,
                                     threads, algorithms_, code_of_default(plan, compiler_)});
    set_threads(threads);
    std::vector<KernelEntry> kernels = candidates(plan, threads);
    std::vector<Plan> plans(kernels.size(), plan);
    std::vector<std::function<void()>> runs;
    size_t recorded = 0;  // the choice of the records; without one, dispatch's
    for (size_t k = 0; k < kernels.size(); k++) {
        plans[k].kernel = &kernels[k];
        runs.push_back([&p = plans[k], &t, &out] { run_plan(p, t.in, t.attrs, out); });
        for (const Tensor &y : out)
            std::memset(y.raw(), 0xFF, y.bytes());
        runs[k]();
        if (const std::string violation = expected.known() ? expected.judge(out).violation : "";
            !violation.empty()) {
            throw DispatchError(op_.record.name,
                                kernels[k].variant + " on '" + shape + "': " + violation);
        }
        if (d.best && kernels[k].variant == d.best->variant &&
            kernels[k].tunables ==
                std::map<std::string, int64_t>(d.best->tunables.begin(), d.best->tunables.end()))
            recorded = k;
    }
    // The best is selected by every other round and timed by the rest, because the fastest of many
    // looks faster than it is.
    const auto times = interleaved(runs, o_.tuner.rounds, o_.tuner.min_time);
    auto half = [&](size_t k, size_t which) {
        std::vector<double> v;
        for (size_t r = which; r < times[k].size(); r += 2)
            v.push_back(times[k][r]);
        return median(v);
    };
    size_t best = 0;
    for (size_t k = 1; k < times.size(); k++)
        if (half(k, 0) < half(best, 0)) best = k;
    auto loss = [&](size_t k) { return std::max(0.0, half(k, 1) / half(best, 1) - 1); };
    std::map<std::string, int> tunables;
    for (auto &[name, value] : kernels[best].tunables)
        tunables[name] = int(value);
    losses_[bucket].push_back({shape, kernels[best].variant + " " + tune::tunables_text(tunables),
                               loss(0), loss(recorded)});
}

void Regret::print(int threads) {
    std::printf("\n%s %s, threads: %d: time lost to the best kernel measured, on shapes that "
                "weren't tuned for\n",
                op_.record.name.c_str(), dtypes_.c_str(), threads);
    std::printf("  shapes   dispatch: p50     p95   records: p50     p95   bucket\n");
    std::vector<Loss> all;
    auto line = [](const std::vector<Loss> &losses, const std::string &name) {
        std::vector<double> a, b;
        for (auto &l : losses) {
            a.push_back(100 * l.dispatch);
            b.push_back(100 * l.records);
        }
        std::printf("  %6zu         %5.1f %%  %5.1f %%        %5.1f %%  %5.1f %%  %s\n",
                    losses.size(), quantile(a, 0.5), quantile(a, 0.95), quantile(b, 0.5),
                    quantile(b, 0.95), name.c_str());
    };
    for (auto &[bucket, losses] : losses_) {
        line(losses, bucket);
        all.insert(all.end(), losses.begin(), losses.end());
    }
    if (all.empty()) return;
    line(all, "all");
    const auto worst = std::max_element(all.begin(), all.end(), [](const Loss &a, const Loss &b) {
        return a.dispatch < b.dispatch;
    });
    std::printf("  dispatch loses most on '%s': %.1f %% to %s\n", worst->shape.c_str(),
                100 * worst->dispatch, worst->best.c_str());
    losses_.clear();
}

}  // namespace

int print_regret(const TuneOptions &o) {
    tune::Compiler compiler;
    print_machine();
    for (auto &name : o.ops) {
        const RegisteredOp &op = op_with_kernels(name);
        Regret regret(o, op, compiler);
        for (int threads : o.threads) {
            for (auto &shape : held_out(op.record, tuned_problems(op, o), o.held_out, o.tuner.seed))
                regret.measure(shape, threads);
            regret.print(threads);
        }
    }
    return 0;
}

}  // namespace halyard::command
