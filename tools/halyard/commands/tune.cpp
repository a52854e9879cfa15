// halyard tune: measures candidates for a schedule and keeps a record of each measurement.
#include "tools/halyard/commands/tune.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "bench/harness/benchmark_case.h"
#include "bench/harness/machine.h"
#include "bench/harness/op_call.h"
#include "dsl/all_ops.h"
#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/text.h"
#include "registry/dispatch/planner.h"
#include "tools/halyard/command.h"
#include "tools/halyard/option.h"
#include "tools/tune/autoscheduler.h"

namespace halyard::command {
using namespace bench;
namespace {

using tune::Record;

std::atomic<bool> stop = false;
extern "C" void on_interrupt(int) {
    stop = true;
    std::signal(SIGINT, SIG_DFL);
}

// Parses "60s" of measuring, or "200" candidates.
tune::Budget budget_from(const std::string &text) {
    char *end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    std::string unit = end;
    while (unit.starts_with(" "))
        unit.erase(0, 1);
    if (!(number >= 1 && number < 1e6) || (unit != "" && unit != "s" && unit != "candidates")) {
        throw AttrError("tune", "--budget is '" + text +
                                    "', expected seconds or a number of candidates: 60s or 200");
    }
    tune::Budget b;
    if (unit == "s") {
        b.seconds = number;
        b.candidates = 1u << 20;
    } else
        b.candidates = size_t(number);
    return b;
}

void print_problem(const tune::Tuner &t) {
    const Record &s = t.baseline();
    std::printf("\n%s '%s' %s %s, threads: %d: %zu measured, %zu from records\n", s.op.c_str(),
                s.problem.c_str(), s.dtypes.c_str(), s.isa.c_str(), s.threads, t.measured(),
                t.reused());
    std::printf("    x default    interval          us  verdict   kernel\n");
    constexpr size_t shown = 8;
    size_t timed = 0, more = 0;
    for (const Record &r : t.records()) {
        const bool baseline = tune::key_of(r) == tune::key_of(s);
        timed += r.timed();
        if (timed > shown && r.timed() && !baseline)
            more++;
        else if (r.timed()) {
            std::printf("  %s %9.3f  %.3f..%.3f %11.2f  %-8s  %s\n", baseline ? "*" : " ", r.ratio,
                        r.low, r.high, r.median_us,
                        t.unproved().count(tune::key_of(r)) ? "unproved" : r.verdict.c_str(),
                        tune::kernel_text(r).c_str());
        }
    }
    if (more) std::printf("    %zu slower ones\n", more);
    for (const Record &r : t.records()) {
        if (!r.timed())
            std::printf("    no time: %s: %s\n", tune::kernel_text(r).c_str(), r.verdict.c_str());
    }
    for (const Record &r : t.records()) {
        if (const auto why = t.unproved().find(tune::key_of(r)); why != t.unproved().end()) {
            std::printf("    not proved: %s: %s\n", tune::kernel_text(r).c_str(),
                        why->second.c_str());
        }
    }
    for (auto &line : t.conclusions())
        std::printf("  -> %s\n", line.c_str());
}

int tune_op(const TuneOptions &o, const std::string &name, tune::Compiler &compiler) {
    const RegisteredOp &op = op_with_kernels(name);
    tune::TunerOptions options = o.tuner;
    options.variant = variant_called(op.record, options.variant);
    if (!options.isa.empty()) Target("cpu", options.isa, "");
    options.dtypes = dtype_set(op.record, options.dtypes);
    options.budget = budget_from(o.budget);
    const std::string path = o.records.empty() ? default_records(name) : o.records;
    tune::History history(path);
    complain(history.refused());
    size_t measured = 0, reused = 0;
    for (int threads : o.threads) {
        for (const std::string &problem : tuned_problems(op, o)) {
            if (stop) break;
            options.threads = threads;
            tune::Tuner t(op, problem, options, compiler, history);
            t.run(stop);
            print_problem(t);
            measured += t.measured();
            reused += t.reused();
            if (!o.print_schedule) continue;
            for (auto &[scheduler, source] : t.sources()) {
                std::printf("\n// %s for '%s'\n%s", scheduler.c_str(), problem.c_str(),
                            source.c_str());
            }
        }
    }
    std::printf("\n* = what a call without limits takes. %zu measured, %zu from %s\n", measured,
                reused, path.c_str());
    if (history.foreign()) {
        std::printf("not used: %zu foreign records (the first %s)\n", history.foreign(),
                    history.first_foreign_reason().c_str());
    }
    if (history.stale()) {
        std::printf("not used: %zu stale records: the algorithm has changed since\n",
                    history.stale());
    }
    if (stop) std::printf("interrupted: run it again to go on\n");
    return stop ? 1 : 0;
}

// Prints schedules for a GPU as source. Nothing is timed, and no device is needed.
int print_device_schedules(const TuneOptions &o, const std::string &name,
                           tune::Compiler &compiler) {
    const RegisteredOp &op = op_with_kernels(name);
    if (o.tuner.autoschedulers.empty()) {
        throw AttrError(name, "--device " + o.device +
                                  " is for --autoscheduler: picks are tuned on the CPU");
    }
    bool made = true;
    for (const std::string &problem : tuned_problems(op, o)) {
        for (const std::string &scheduler : o.tuner.autoschedulers) {
            const ProblemInstance t(op, problem, o.tuner.dtypes);
            const Plan plan = make_plan(op, metas_of(t), t.attrs);
            if (!plan.kernel) throw ShapeError(name, "'" + problem + "' has nothing to compute");
            tune::Job job;
            job.op = name;
            job.dtypes = plan.kernel->dtypes;
            job.variant = op.record.variants.back().name;
            job.backend = o.device;
            job.autoscheduler = scheduler;
            job.layouts = tune::layouts_of(plan);
            job.seconds = 120;
            const tune::Built b = compiler.build(job);
            std::printf("// %s for '%s', %s%s\n%s\n", scheduler.c_str(), problem.c_str(),
                        o.device.c_str(), b.error.empty() ? "" : (": " + b.error).c_str(),
                        b.source.c_str());
            made &= b.error.empty();
        }
    }
    return made ? 0 : 1;
}

int run(TuneOptions o) {
    if (!o.merge.empty()) return merge_records(o);
    if (!o.diff.empty()) return diff_records(o);
    list_kit_ops();
    if (o.stale) return list_stale(o);
    if (o.ops.empty()) throw AttrError("tune", "names no op");
    if (o.threads.empty()) o.threads = {1};
    if (o.why) return explain_records(o);
    if (o.paste) return paste_tunables(o);
    if (o.regret) return print_regret(o);
    tune::Compiler compiler;
    if (!o.device.empty()) {
        int status = 0;
        for (auto &name : o.ops)
            status |= print_device_schedules(o, name, compiler);
        return status;
    }
    print_machine();
    std::signal(SIGINT, on_interrupt);
    int status = 0;
    for (auto &name : o.ops)
        status |= tune_op(o, name, compiler);
    return status;
}

void refuse_idle_options(const TuneOptions &o, const CLI::App &sub) {
    if (!o.merge.empty())
        refuse_idle(sub, "with --merge", {"--merge", "--out"});
    else if (!o.diff.empty())
        refuse_idle(sub, "with --diff", {"--diff"});
    else if (o.stale)
        refuse_idle(sub, "with --stale", {"--stale", "--records"});
    else if (o.why) {
        refuse_idle(sub, "with --why",
                    {"ops", "--why", "--shape", "--records", "--threads", "--isa", "--dtype"});
    } else if (o.paste)
        refuse_idle(sub, "with --paste", {"ops", "--paste", "--records", "--isa", "--dtype"});
    else if (o.regret) {
        refuse_idle(sub, "with --regret",
                    {"ops", "--regret", "--held-out", "--shape", "--records", "--threads",
                     "--dtype", "--rounds", "--min-time", "--seed"});
    } else if (!o.device.empty()) {
        refuse_idle(sub, "with --device " + o.device,
                    {"ops", "--device", "--shape", "--dtype", "--autoscheduler"});
    } else
        refuse(sub, "without --merge or --regret", {"--out", "--held-out"});
    if (o.tuner.autoschedulers.empty())
        refuse(sub, "without --autoscheduler", {"--print-schedule"});
    if ((o.why || o.paste) && o.ops.size() > 1) {
        throw AttrError("tune", std::string(o.why ? "--why" : "--paste") +
                                    " is about one op, and " + std::to_string(o.ops.size()) +
                                    " are named");
    }
}

}  // namespace

std::string default_records(const std::string &op) {
    if (cache_is_private()) {
        throw IoError(
            op, "records can't be kept: there is no cache folder; give a file with --records");
    }
    return (cache_folder() / "records" / (op + ".records")).string();
}

std::vector<std::string> tuned_problems(const RegisteredOp &op, const TuneOptions &o) {
    if (!o.shapes.empty()) return o.shapes;
    return op.record.bench.empty() ? std::vector{problems_of(op.record).back()} : op.record.bench;
}

std::map<std::string, std::string> algorithms_of(const RegisteredOp &op, const std::string &dtypes,
                                                 Isa isa, tune::Compiler &compiler) {
    std::map<std::string, std::string> all;
    for (auto &v : op.record.variants) {
        tune::Job job;
        job.op = op.record.name;
        job.dtypes = dtypes;
        job.variant = v.name;
        job.isa = isa;
        all[v.name] = compiler.offers(job).algorithm;
    }
    return all;
}

std::string code_of_default(const Plan &plan, tune::Compiler &compiler) {
    tune::Job job;
    job.op = plan.op->record.name;
    job.dtypes = plan.kernel->dtypes;
    job.variant = plan.kernel->variant;
    job.isa = plan.kernel->isa;
    job.tunables = {plan.kernel->tunables.begin(), plan.kernel->tunables.end()};
    return compiler.build(job).code;
}

bool complain(const std::vector<std::string> &refused_lines) {
    for (auto &line : refused_lines)
        std::fprintf(stderr, "%s; the line isn't used\n", line.c_str());
    return !refused_lines.empty();
}

namespace {

// Declares the options of a measurement.
void add_measuring_options(CLI::App *sub, TuneOptions *o) {
    sub->add_option("ops", o->ops, "Names of ops");
    sub->add_option("--shape,-s", o->shapes,
                    "A problem such as \"m=512 k=512 n=512\"; default: those of the op's record")
        ->allow_extra_args(false);
    sub->add_option("--budget", o->budget, "60s of measuring, or 200 candidates, for each problem")
        ->capture_default_str();
    sub->add_option("--seed", o->tuner.seed, "Seed of the order of candidates")
        ->check(whole_number(std::numeric_limits<unsigned>::max()))
        ->capture_default_str();
    sub->add_option("--records", o->records, "The file of records; default: the op's in the cache");
    sub->add_option("--threads", o->threads, "Numbers of threads: 1,2; default: 1")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
    sub->add_option("--isa", o->tuner.isa,
                    "baseline, avx2 or avx512; default: that of the kernel a call gets");
    sub->add_option("--variant", o->tuner.variant, "Only this variant");
    sub->add_option("--dtype", o->tuner.dtypes, "f32, f16, ... (f32,i32 where the op has two)");
    sub->add_option("--rounds", o->tuner.rounds, "Interleaved rounds of each measurement")
        ->check(CLI::Range(8, 1000))
        ->capture_default_str();
    sub->add_option("--min-time", o->tuner.min_time, "Seconds per kernel and round")
        ->check(CLI::Range(1e-5, 60.0))
        ->capture_default_str();
    sub->add_option("--autoscheduler", o->tuner.autoschedulers,
                    "Also candidates of Halide's autoschedulers: " +
                        CLI::detail::join(tune::autoschedulers()))
        ->delimiter(',')
        ->check(CLI::IsMember(tune::autoschedulers()));
    sub->add_option("--device", o->device,
                    "Only print the autoschedulers' schedules for opencl or cuda")
        ->check(CLI::IsMember({"opencl", "cuda"}));
    sub->add_flag("--print-schedule", o->print_schedule,
                  "Print the autoschedulers' schedules, as source for the op's file");
}

// Declares the options that work on files of records, or on shapes that weren't tuned for.
void add_record_options(CLI::App *sub, TuneOptions *o) {
    sub->add_option("--merge", o->merge,
                    "Merge files of records into one (--out), each measurement once")
        ->expected(1, 1000);
    sub->add_option("--out,-o", o->out, "The file that --merge writes");
    sub->add_option("--diff", o->diff, "Print what changed from one file of records to another")
        ->expected(2);
    sub->add_flag("--why", o->why, "Print which record decides for --shape, and why others don't");
    sub->add_flag("--paste", o->paste,
                  "Print better defaults for the schedules from the records, as lines to paste");
    sub->add_flag("--stale", o->stale,
                  "List records (of --records, or those of the kit) of algorithms that "
                  "have changed since");
    sub->add_flag("--regret", o->regret,
                  "Measure how much slower than the best the kernels are on shapes not tuned for");
    sub->add_option("--held-out", o->held_out, "How many such shapes")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
}

}  // namespace

void add_tune(CLI::App &app, Run &selected) {
    auto o = std::make_shared<TuneOptions>();
    CLI::App *sub = app.add_subcommand(
        "tune", "Measure candidates for an op's schedules, and keep records");
    sub->footer("Every candidate is checked against the op's contract before it is timed, in the "
                "same rounds as the kernel that a call gets.");
    add_measuring_options(sub, o.get());
    add_record_options(sub, o.get());
    sub->callback([o, sub, &selected] {
        refuse_idle_options(*o, *sub);
        selected = [o] { return run(*o); };
    });
}

}  // namespace halyard::command
