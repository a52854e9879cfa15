// halyard ablate: the effect of each directive of a schedule, measured as the kernel without it
// against the kernel with all of them.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <utility>

#include "bench/harness/machine.h"
#include "bench/harness/statistics.h"
#include "bench/harness/system_load.h"
#include "dsl/diagnostic.h"
#include "registry/base/parallel.h"
#include "registry/base/process_pool.h"
#include "registry/base/temporary_folder.h"
#include "tools/halyard/code_size.h"
#include "tools/halyard/command.h"
#include "tools/halyard/selected_kernel.h"

namespace halyard::command {
using namespace bench;
namespace {
namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

struct AblateOptions {
    KernelOptions kernel;
    double seconds = 0.5;
    int rounds = 15;
    unsigned limit = 60;
};

// Returns the children's processor time, which other processes on the machine prolong less than
// wall time.
double children_seconds() {
    rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * double(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

std::string contents_of(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
}

// A compiled kernel, without one directive or with all of them.
struct Build {
    std::unique_ptr<Kernel> kernel;
    fs::path path;
    std::string object;      // its bytes
    double compiled_in = 0;  // seconds of a processor

    Build(const SelectedKernel &c, int skip, fs::path to, unsigned limit) : path(std::move(to)) {
        Instance i = c.instance;
        i.skip = skip;
        kernel = std::make_unique<Kernel>(op_table().make(c.op.record.name), i);
        const double before = children_seconds();
        kernel->compile(path, limit);
        compiled_in = children_seconds() - before;
        object = contents_of(path);
    }
};

struct Row {
    std::string where, call;
    std::string refused;  // why there is no such kernel, or no correct one; else:
    Comparison time;      // without the directive, against with it
    bool same_code = false;
    double more_code = 0;     // bytes
    double more_compile = 0;  // seconds
};

// Returns how the kernel's results violate the contract, from a child process: without a directive
// the kernel may access memory out of bounds or not end.
std::string breach_of(const SelectedKernel &c, const Expected &expected, const KernelEntry &k,
                      unsigned limit) {
    return run_in_child(
        c.op.record.name,
        [&] {
            set_threads(1);  // the others are in the parent
            for (const Tensor &y : c.out)
                std::memset(y.raw(), 0xFF, y.bytes());
            c.runner(k)();
            return expected.known() ? expected.judge(c.out).violation : std::string();
        },
        limit, "a call");
}

double seconds_per_call(const std::function<void()> &run, int calls) {
    const auto start = SteadyClock::now();
    for (int i = 0; i < calls; i++)
        run();
    return std::chrono::duration<double>(SteadyClock::now() - start).count() / calls;
}

// Times both, interleaved in random order within each round, with the full schedule a second time
// as the control run.
Comparison compared(const std::function<void()> &without, const std::function<void()> &full,
                    const AblateOptions &o) {
    const double sample = o.seconds / o.rounds / 3;
    auto calls_of = [&](const std::function<void()> &run) {
        run();
        return int(std::clamp(sample / seconds_per_call(run, 1), 1.0, 1e6));
    };
    const int calls_without = calls_of(without);
    const int calls_full = calls_of(full);
    std::vector<double> times[3];  // without, full, full
    const Counters before = count();
    std::mt19937 random(7);
    for (int r = 0; r < o.rounds; r++) {
        std::vector<int> order = {0, 1, 2};
        std::shuffle(order.begin(), order.end(), random);
        for (int k : order) {
            times[k].push_back(k == 0 ? seconds_per_call(without, calls_without)
                                      : seconds_per_call(full, calls_full));
        }
    }
    Comparison c = compare(times[0], times[1], times[2]);
    if (!leaves_a_core(between(before, count()))) c.withdraw(no_idle_core);
    return c;
}

// Returns an error's text without the op's name, which is in the headline, and without advice.
std::string essence(const Op &op, const std::string &error) {
    const size_t from = error.starts_with("[") ? error.find("] ") + 2 : 0;
    return with_author_names(op, error.substr(from, error.find(';', from) - from));
}

Row drop(const SelectedKernel &c, const Build &full, const KernelEntry &full_entry,
         const Expected &expected, int which, const Directive &d, const fs::path &folder,
         const AblateOptions &o) {
    Row row;
    row.where = d.site.location();
    row.call = with_author_names(*full.kernel->op, d.call);
    if (!d.new_func.empty()) {
        row.refused = "makes a Func that others schedule";
        for (auto &other : full.kernel->directives) {
            if (other.func == d.new_func && !other.definition) {
                row.refused = "needed by " + other.site.location() + ": " +
                              with_author_names(*full.kernel->op, other.call);
                break;
            }
        }
        return row;
    }
    try {
        const Build built(c, which, folder / (std::to_string(which) + ".o"), o.limit);
        row.same_code = built.object == full.object;
        row.more_code = double(code_bytes(built.object)) - double(code_bytes(full.object));
        row.more_compile = built.compiled_in - full.compiled_in;
        const KernelEntry entry = c.entry(*built.kernel, built.kernel->open(built.path));
        const std::string violation = breach_of(c, expected, entry, o.limit);
        if (violation.empty())
            row.time = compared(c.runner(entry), c.runner(full_entry), o);
        else
            row.refused = "wrong without it: " + violation;
    } catch (const std::exception &e) {
        row.refused = "needed: " + essence(*full.kernel->op, e.what());
    }
    return row;
}

// Returns the size of an effect beyond noise; 0 for the rest, which keeps the order of the
// schedule.
double effect(const Row &r) {
    return r.refused.empty() && !r.same_code && r.time.answer != Comparison::cannot_tell
               ? std::fabs(std::log(r.time.ratio))
               : 0;
}

std::string time_text(const Row &r) {
    char text[60];
    if (effect(r) > 0) {
        std::snprintf(text, sizeof text, "%.2fx (%.2f-%.2f)", r.time.ratio, r.time.low,
                      r.time.high);
        return text;
    }
    return r.same_code ? "noise, same code" : r.time.no_answer.empty() ? "noise" : no_idle_core;
}

// Prints the directives that can be left out. Loops and helpers make many directives of one line,
// of which one without an effect is printed.
void print_effects(const std::vector<Row> &rows, const Build &full) {
    std::printf("  without it:  time              code  compile\n");
    const double code = double(code_bytes(full.object));
    std::map<std::string, int> noise;
    for (auto &r : rows)
        noise[r.where] += r.refused.empty() && effect(r) == 0;
    for (auto &r : rows) {
        if (!r.refused.empty()) continue;
        std::string more;
        if (effect(r) == 0) {
            const int here = std::exchange(noise[r.where], 0);
            if (here == 0) continue;
            if (here > 1) more = ", and " + std::to_string(here - 1) + " more there";
        }
        std::printf("  %-22s %+8.0f%% %+7.2fs  %s %s%s\n", time_text(r).c_str(),
                    100 * r.more_code / code, r.more_compile, r.where.c_str(), r.call.c_str(),
                    more.c_str());
    }
}

void print_needed(const std::vector<Row> &rows) {
    bool first = true;
    for (auto &r : rows) {
        if (r.refused.empty()) continue;
        std::printf("%s    %s %s\n      %s\n", first ? "  can't go alone:\n" : "", r.where.c_str(),
                    r.call.c_str(), r.refused.c_str());
        first = false;
    }
}

int ablate(const AblateOptions &o) {
    const SelectedKernel c(o.kernel);
    const TemporaryFolder folder("halyard_ablate");
    const Build full(c, no_directive, folder.path / "full.o", o.limit);
    const KernelEntry full_entry = c.entry(*full.kernel, full.kernel->open(full.path));
    const Expected expected(c.problem, c.out);
    c.runner(full_entry)();
    if (const auto verdict = expected.judge(c.out); expected.known() && !verdict.violation.empty())
        throw Error(c.op.record.name, verdict.violation);

    std::vector<const Directive *> schedule;
    for (auto &d : full.kernel->directives)
        if (!d.definition) schedule.push_back(&d);
    print_machine();
    std::printf("\n%s\n", c.headline().c_str());
    std::printf(
        "  the whole schedule: %.2f us, %zu bytes of code, compiled in %.2f s, %zu directives\n",
        seconds_per_call(c.runner(full_entry), 20) * 1e6, code_bytes(full.object), full.compiled_in,
        schedule.size());
    std::vector<Row> rows;
    for (size_t i = 0; i < schedule.size(); i++) {
        if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r%zu/%zu ", i + 1, schedule.size());
        rows.push_back(drop(c, full, full_entry, expected, int(i), *schedule[i], folder.path, o));
    }
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r       \r");
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row &a, const Row &b) { return effect(a) > effect(b); });
    print_effects(rows, full);
    print_needed(rows);
    return 0;
}

}  // namespace

void add_ablate(CLI::App &app, Run &selected) {
    auto o = std::make_shared<AblateOptions>();
    CLI::App *sub = app.add_subcommand("ablate",
                                       "Measure the effect of each directive of a schedule: time, "
                                       "code and compile time without it");
    add_kernel_options(*sub, o->kernel);
    sub->add_option("--time", o->seconds, "Seconds of measuring per directive")
        ->check(CLI::Range(0.001, 600.0))
        ->capture_default_str();
    sub->add_option("--rounds", o->rounds, "Interleaved rounds per directive")
        ->check(CLI::Range(8, 1000))
        ->capture_default_str();
    sub->add_option("--limit", o->limit,
                    "Limit in seconds for compiling, and for a first call without a directive")
        ->check(CLI::Range(1u, 3600u))
        ->capture_default_str();
    sub->callback([o, &selected] { selected = [o] { return ablate(*o); }; });
}

}  // namespace halyard::command
