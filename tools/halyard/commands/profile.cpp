// halyard profile: the time and the memory of one kernel, stage by stage.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "HalideRuntime.h"
#include "bench/harness/machine.h"
#include "bench/harness/system_load.h"
#include "dsl/all_ops.h"
#include "dsl/name_counters.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/simulated.h"
#include "tools/halyard/command.h"
#include "tools/halyard/commands/ascend.h"
#include "tools/halyard/option.h"
#include "tools/halyard/selected_kernel.h"
#include "tools/halyard/timeline.h"

namespace halyard::command {
using namespace bench;
namespace {

struct ProfileOptions {
    KernelOptions kernel;
    std::string trace, device;
    double seconds = 1;
};

struct Stage {
    std::string name;
    double seconds = 0, threads = 0;  // per call; busy on average
    uint64_t heap = 0, stack = 0;     // bytes at their peak
    double allocations = 0;           // per call
};

// Repeats the call for `seconds` and returns the mean time of a call. Adds their number to `calls`.
double time_calls(const std::function<void()> &run, double seconds, int64_t &calls) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    double passed = 0;
    int64_t n = 0;
    do {
        run();
        n++;
        passed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (passed < seconds);
    calls += n;
    return passed / double(n);
}

std::vector<Stage> stages_of(const halide_profiler_pipeline_stats &s, int64_t calls) {
    std::string names;
    for (int k = 0; k < s.num_funcs; k++)
        names += std::string(s.funcs[k].name) + "\n";
    std::istringstream clean(without_counters(names));
    std::vector<Stage> all;
    for (int k = 0; k < s.num_funcs; k++) {
        const halide_profiler_func_stats &f = s.funcs[k];
        Stage g;
        std::getline(clean, g.name);
        g.seconds = double(f.time) * 1e-9 / double(calls);
        g.threads = double(f.active_threads_numerator) /
                    double(std::max<uint64_t>(1, f.active_threads_denominator));
        g.heap = f.memory_peak;
        g.stack = f.stack_peak;
        g.allocations = double(f.num_allocs) / double(calls);
        if (g.seconds > 0 || g.heap) all.push_back(g);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Stage &a, const Stage &b) { return a.seconds > b.seconds; });
    return all;
}

std::string bytes_text(uint64_t n) {
    char text[40];
    if (n < 10000)
        std::snprintf(text, sizeof text, "%llu B", (unsigned long long)n);
    else if (n < 10000u << 10)
        std::snprintf(text, sizeof text, "%.1f KiB", double(n) / 1024);
    else
        std::snprintf(text, sizeof text, "%.1f MiB", double(n) / (1 << 20));
    return text;
}

void print_stages(const std::vector<Stage> &stages) {
    double total = 0, rest = 0;
    size_t width = 5;
    for (auto &s : stages) {
        total += s.seconds;
        width = std::max(width, s.name.size());
    }
    std::printf("  %-*s %12s %7s %8s %11s %11s %12s\n", int(width), "stage", "us per call", "share",
                "threads", "heap peak", "stack peak", "allocations");
    int left_out = 0;
    for (auto &s : stages) {
        if (s.seconds < 1e-3 * total && !s.heap) {
            rest += s.seconds;
            left_out++;
            continue;
        }
        std::printf("  %-*s %12.2f %6.1f%% %8.2f %11s %11s %12.1f\n", int(width), s.name.c_str(),
                    s.seconds * 1e6, 100 * s.seconds / total, s.threads, bytes_text(s.heap).c_str(),
                    bytes_text(s.stack).c_str(), s.allocations);
    }
    if (left_out) std::printf("  %d more, together %.2f us\n", left_out, rest * 1e6);
}

// Writes the timeline of one call. `plain` is the seconds of a call without tracing.
void trace(const SelectedKernel &selected, double plain, const std::string &path) {
    const std::string name = selected.op.record.name;
    Instance traced = selected.instance;
    traced.traced = true;
    Kernel built(op_table().make(name), traced);
    const KernelEntry entry = selected.entry(built, built.load());
    const std::vector<Slice> slices = timeline_of(name, selected.runner(entry));
    double end = 0;
    for (const Slice &s : slices)
        end = std::max(end, s.begin + s.seconds);
    save_trace(path, selected.headline(), "stage", slices,
               {{"kernel", selected.headline()},
                {"microseconds of a call without tracing", std::to_string(plain * 1e6)}});
    std::printf("  %s: %zu slices of one call, which took %.2f us while each was written down, "
                "%.2f us else\n",
                path.c_str(), slices.size(), end * 1e6, plain * 1e6);
}

int profile(const ProfileOptions &o) {
    const SelectedKernel selected(o.kernel);
    const std::string name = selected.op.record.name;
    Instance profiled = selected.instance;
    profiled.profiled = true;
    Kernel plain(op_table().make(name), selected.instance);
    Kernel watched(op_table().make(name), profiled);
    const KernelEntry plain_entry = selected.entry(plain, plain.load());
    const KernelEntry watched_entry = selected.entry(watched, watched.load());
    const std::function<void()> run_plain = selected.runner(plain_entry);
    const std::function<void()> run_watched = selected.runner(watched_entry);
    run_plain();
    run_watched();

    halide_profiler_state *const profiler = halide_profiler_get_state();
    halide_profiler_reset();
    profiler->sleep_time = 100;  // us between samples; short kernels need many
    constexpr int rounds = 8;
    double best_plain = 1e30, best_watched = 1e30;
    int64_t calls = 0, ignored = 0;
    for (int k = 0; k < rounds; k++) {  // interleaved, so that other processes slow both
        best_plain = std::min(best_plain, time_calls(run_plain, o.seconds / rounds / 4, ignored));
        best_watched = std::min(best_watched, time_calls(run_watched, o.seconds / rounds, calls));
    }
    const halide_profiler_pipeline_stats *s = profiler->pipelines;
    while (s && profiled.symbol(name) != s->name)
        s = (const halide_profiler_pipeline_stats *)s->next;
    if (!s) throw DispatchError(name, "nothing was computed for '" + selected.problem.text + "'");

    print_machine();
    warn_of_others(threads());
    std::printf("\n%s\n", selected.headline().c_str());
    for (auto &[pick, value] : watched_entry.tunables)
        std::printf("  %s=%lld", pick.c_str(), (long long)value);
    std::printf("%s", watched_entry.tunables.empty() ? "" : "\n");
    print_stages(stages_of(*s, calls));
    std::printf("  all together: heap peak %s; %d samples of %lld calls\n",
                bytes_text(s->memory_peak).c_str(), s->samples, (long long)calls);
    std::printf("  a call takes %.2f us, %.2f us while it is watched: ", best_plain * 1e6,
                best_watched * 1e6);
    std::printf("%s\n", best_watched < 1.1 * best_plain
                            ? "the shares are those of the kernel"
                            : "watching is a part of the shares of its shortest stages");
    halide_profiler_reset();  // otherwise it reports at exit, too
    if (!o.trace.empty()) trace(selected, best_plain, o.trace);
    return 0;
}

}  // namespace

void add_profile(CLI::App &app, Run &selected) {
    auto o = std::make_shared<ProfileOptions>();
    CLI::App *sub = app.add_subcommand("profile", "Time and memory of each stage of a kernel");
    add_kernel_options(*sub, o->kernel);
    sub->add_option("--trace", o->trace,
                    "Write when each stage of one call began and ended, for chrome://tracing or "
                    "ui.perfetto.dev; ascend: as a picture if the name ends in .svg");
    sub->add_option("--device,--backend", o->device,
                    ascend_names() + ": what each unit of the simulated chip does; default: cpu")
        ->check(cpu_or_ascend());
    sub->add_option("--time", o->seconds, "Seconds of watched calls")
        ->check(CLI::Range(0.01, 600.0));
    sub->callback([o, sub, &selected] {
        if (is_ascend(o->device))
            refuse(*sub, "with --device " + o->device, {"--isa", "--picks", "--time"});
        selected = [o] {
            if (!is_ascend(o->device)) return profile(*o);
            list_kit_ops();
            simulated_device().use_chip(o->device);
            profile_ascend(o->kernel.op, o->kernel.shape, o->kernel.dtype, o->kernel.variant,
                           o->trace);
            return 0;
        };
    });
}

}  // namespace halyard::command
