// halyard profile: where one kernel spends its time and its memory, stage by stage.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "HalideRuntime.h"
#include "dsl/all_ops.h"
#include "dsl/lower.h"
#include "registry/parallel.h"
#include "tools/halyard/call.h"
#include "tools/halyard/command.h"
#include "tools/halyard/load.h"
#include "tools/halyard/machine.h"
#include "tools/halyard/picks.h"
#include "tools/halyard/subject.h"

namespace halyard::command {
namespace {

struct Options {
    std::string op, shape, dtype, isa, variant;
    std::vector<std::string> picks;
    double seconds = 1;
};

struct Stage {
    std::string name;
    double seconds = 0, threads = 0;  // per call; busy on average
    uint64_t heap = 0, stack = 0;     // bytes at their peak
    double allocations = 0;           // per call
};

struct Compiled {
    KernelEntry entry;
    std::string symbol;
};

Compiled compiled(const std::string &op, Instance i, const KernelEntry &like, bool profiled) {
    i.profiled = profiled;
    Kernel k(op_table().make(op), i);
    Compiled c{like, i.symbol(op)};
    c.entry.fn = k.load(), c.entry.lanes = k.lanes, c.entry.picks = k.instance.picks.values();
    return c;
}

// One call after another for as long as `seconds`; how long each took on average. Adds to `calls`.
double time_calls(const std::function<void()> &run, double seconds, int64_t &calls) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    double passed = 0;
    int64_t n = 0;
    do run(), n++, passed = std::chrono::duration<double>(Clock::now() - start).count();
    while (passed < seconds);
    calls += n;
    return passed / (double)n;
}

std::vector<Stage> stages_of(const halide_profiler_pipeline_stats &s, int64_t calls) {
    std::string names;
    for (int k = 0; k < s.num_funcs; k++) names += std::string(s.funcs[k].name) + "\n";
    std::istringstream clean(without_counters(names));
    std::vector<Stage> all;
    for (int k = 0; k < s.num_funcs; k++) {
        const halide_profiler_func_stats &f = s.funcs[k];
        Stage g;
        std::getline(clean, g.name);
        g.seconds = (double)f.time * 1e-9 / (double)calls;
        g.threads = (double)f.active_threads_numerator / (double)std::max<uint64_t>(1, f.active_threads_denominator);
        g.heap = f.memory_peak, g.stack = f.stack_peak, g.allocations = (double)f.num_allocs / (double)calls;
        if (g.seconds > 0 || g.heap) all.push_back(g);
    }
    std::stable_sort(all.begin(), all.end(), [](const Stage &a, const Stage &b) { return a.seconds > b.seconds; });
    return all;
}

std::string bytes_text(uint64_t n) {
    char text[40];
    if (n < 10000) std::snprintf(text, sizeof text, "%llu B", (unsigned long long)n);
    else if (n < 10000u << 10) std::snprintf(text, sizeof text, "%.1f KiB", (double)n / 1024);
    else std::snprintf(text, sizeof text, "%.1f MiB", (double)n / (1 << 20));
    return text;
}

void print_stages(const std::vector<Stage> &stages) {
    double total = 0, rest = 0;
    size_t width = 5;
    for (auto &s : stages) total += s.seconds, width = std::max(width, s.name.size());
    std::printf("  %-*s %12s %7s %8s %11s %11s %12s\n", (int)width, "stage", "us per call", "share", "threads", "heap peak", "stack peak", "allocations");
    int left_out = 0;
    for (auto &s : stages) {
        if (s.seconds < 1e-3 * total && !s.heap) {
            rest += s.seconds, left_out++;
            continue;
        }
        std::printf("  %-*s %12.2f %6.1f%% %8.2f %11s %11s %12.1f\n", (int)width, s.name.c_str(), s.seconds * 1e6, 100 * s.seconds / total, s.threads,
                    bytes_text(s.heap).c_str(), bytes_text(s.stack).c_str(), s.allocations);
    }
    if (left_out) std::printf("  %d more, together %.2f us\n", left_out, rest * 1e6);
}

int profile(const Options &o) {
    const RegisteredOp &op = op_with_kernels(o.op);
    check_variant(op.record, o.variant);
    const Target target("cpu", o.isa, o.variant);
    list_all_ops(op_table());
    const auto problems = problems_of(op.record);
    if (o.shape.empty() && problems.empty()) throw AttrError(o.op, "has no bench or sample problem, give --shape");
    const Trial t(op, o.shape.empty() ? problems[0] : o.shape, dtype_set(op.record, o.dtype));
    const Plan plan = make_plan(op, metas_of(t), t.attrs);
    if (!plan.kernel) throw DispatchError(o.op, "nothing is to be computed for '" + t.text + "'");

    Instance i;
    i.dtypes = plan.kernel->dtypes, i.variant = plan.kernel->variant, i.isa = plan.kernel->isa;
    i.picks = picks_from(o.op, i, o.picks);
    const Compiled plain = compiled(o.op, i, *plan.kernel, false), watched = compiled(o.op, i, *plan.kernel, true);
    if (!takes(op.record, watched.entry, plan)) throw DispatchError(o.op, "the variant's condition doesn't hold with these picks");
    const std::vector<Tensor> out = outputs_of(t);
    auto runner = [&](const Compiled &c) {
        return [&, mine = [&] {
            Plan p = plan;
            p.kernel = &c.entry;
            return p;
        }()] { run_plan(mine, t.in, t.attrs, out); };
    };
    const std::function<void()> run_plain = runner(plain), run_watched = runner(watched);
    run_plain(), run_watched();

    halide_profiler_state *const profiler = halide_profiler_get_state();
    halide_profiler_reset();
    profiler->sleep_time = 100;  // us between samples; short kernels need many
    constexpr int rounds = 8;
    double best_plain = 1e30, best_watched = 1e30;
    int64_t calls = 0, ignored = 0;
    for (int k = 0; k < rounds; k++) {  // interleaved, so that what else runs slows both
        best_plain = std::min(best_plain, time_calls(run_plain, o.seconds / rounds / 4, ignored));
        best_watched = std::min(best_watched, time_calls(run_watched, o.seconds / rounds, calls));
    }
    const halide_profiler_pipeline_stats *s = profiler->pipelines;
    while (s && watched.symbol != s->name) s = (const halide_profiler_pipeline_stats *)s->next;
    if (!s) throw DispatchError(o.op, "nothing was computed for '" + t.text + "'");

    print_machine();
    warn_of_others(threads());
    const std::string kernel = i.dtypes + (i.variant.empty() ? "" : " " + i.variant) + " " + name_of(i.isa);
    std::printf("\n%s %s %s, threads: %d\n", o.op.c_str(), t.text.c_str(), kernel.c_str(), threads());
    for (auto &[name, value] : watched.entry.picks) std::printf("  %s=%lld", name.c_str(), (long long)value);
    std::printf("%s", watched.entry.picks.empty() ? "" : "\n");
    print_stages(stages_of(*s, calls));
    std::printf("  all together: heap peak %s; %d samples of %lld calls\n", bytes_text(s->memory_peak).c_str(), s->samples, (long long)calls);
    std::printf("  a call takes %.2f us, %.2f us while it is watched: ", best_plain * 1e6, best_watched * 1e6);
    std::printf("%s\n", best_watched < 1.1 * best_plain ? "the shares are those of the kernel" : "watching is a part of the shares of its shortest stages");
    halide_profiler_reset();  // else it reports at exit, too
    return 0;
}

}  // namespace

void add_profile(CLI::App &app, Run &chosen) {
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand("profile", "Time and memory of each stage of a kernel");
    sub->add_option("op", o->op, "Name of the op")->required();
    sub->add_option("--shape,-s", o->shape, "A problem in the words of the record: \"n=1024 c=1024\"; default: the op's first");
    sub->add_option("--dtype", o->dtype, "f32, f16, ... (f32,i32 where the op has two)");
    sub->add_option("--isa", o->isa, "Only kernels of this level: baseline, avx2, avx512");
    sub->add_option("--variant", o->variant, "Only kernels of this variant");
    sub->add_option("--picks", o->picks, "A value for one of the schedule's free choices: rows=4")->allow_extra_args(false);
    sub->add_option("--time", o->seconds, "Seconds of watched calls")->check(CLI::Range(0.01, 600.0));
    sub->callback([o, &chosen] { chosen = [o] { return profile(*o); }; });
}

}  // namespace halyard::command
