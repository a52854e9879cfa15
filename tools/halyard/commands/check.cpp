// halyard check: runs an op's correctness checks.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "bench/harness/op_call.h"
#include "bench/harness/tunables.h"
#include "dsl/all_ops.h"
#include "dsl/kernel_cache.h"
#include "primitives/library.h"
#include "registry/base/process_pool.h"
#include "registry/base/text.h"
#include "registry/dispatch/simulated.h"
#include "tools/check/check_json.h"
#include "tools/check/child_check.h"
#include "tools/check/composes.h"
#include "tools/check/fuzz.h"
#include "tools/check/remote_kit.h"
#include "tools/check/report_json.h"
#include "tools/halyard/command.h"
#include "tools/halyard/commands/mutants.h"
#include "tools/halyard/commands/ulps.h"
#include "tools/halyard/kernels.h"
#include "tools/halyard/option.h"
#include "tools/halyard/rejections.h"
#include "tools/tune/stale.h"

namespace halyard::command {
using namespace bench;
namespace {

struct CheckOptions {
    std::vector<std::string> ops, isas, records;
    std::string fuzz, fuzz_case, ulps, json, device, refused, target;
    unsigned seed = 1;
    int jobs = 0;
    bool quick = false, legality = false, all = false, composes = false;
    MutantArguments mutants;
};

// Parses "500" calls or "30s" of calls, for each op.
void set_fuzz(check::Options &options, const std::string &text) {
    char *end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    if (!(number > 0 && number < 1e9) || (!unit.empty() && unit != "s")) {
        throw AttrError("check", "--fuzz is '" + text +
                                     "', expected a number of calls or of seconds: 500 or 30s");
    }
    if (unit == "s")
        options.fuzz_seconds = number;
    else
        options.fuzz_cases = int(number);
}

int rerun_fuzz_case(const std::string &name, const std::string &text) {
    list_kit_ops();
    const OpPtr op = op_table().make(library().at(name).record.name);
    if (!op || op->form == Form::composite)
        throw AttrError(name, "has no kernel of its own to fuzz");
    const check::FuzzCase c = check::parse_fuzz_case(*op, text);
    const std::string error = c.device == "cuda" ? check::run_cuda_call(*op, c)
                                                 : check::run_fuzz_case(*op, c);
    std::printf("%s '%s': %s\n", name.c_str(), text.c_str(), error.empty() ? "ok" : error.c_str());
    return error.empty() ? 0 : 1;
}

size_t usable_cores() {  // that this process may use
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? size_t(CPU_COUNT(&set)) : 1;
}

// Returns the levels of this CPU that any of the ops has kernels for, or those that were asked for.
std::vector<std::string> isas_checked(const std::vector<std::string> &ops,
                                      const check::Options &o) {
    std::set<Isa> all(o.isas.begin(), o.isas.end());
    if (all.empty()) {
        for (auto &name : ops) {
            for (const KernelEntry &k : library().at(name).kernels)
                if (k.backend == "cpu" && k.isa <= host_isa()) all.insert(k.isa);
        }
    }
    std::vector<std::string> names;
    for (Isa isa : all)
        names.emplace_back(name_of(isa));
    return names;
}

// Returns the options that select the same kernels again.
std::string repro_options(const CheckOptions &o) {
    std::string text;
    if (!o.device.empty()) text += " --device " + o.device;
    if (!o.target.empty()) text += " --target " + o.target;
    if (!o.isas.empty()) text += " --isa " + join(o.isas, ",");
    return text + repro_kernel_options();
}

// Returns the command that checks these ops in the same way.
std::string repro_command(const CheckOptions &o, const std::vector<std::string> &ops) {
    std::string text = "halyard check";
    for (auto &name : ops)
        text += " " + name;
    text += repro_options(o);
    if (o.quick) text += " --quick";
    if (o.legality) text += " --legality";
    if (o.composes) text += " --composes";
    if (!o.fuzz.empty()) text += " --fuzz " + o.fuzz;
    if (o.seed != 1) text += " --seed " + std::to_string(o.seed);
    for (auto &path : o.records)
        text += " --records " + shell_word(path);
    return text;
}

int sum_up(const check::CheckRun &run, const CheckOptions &o) {
    int passed = 0, failed = 0, skipped = 0, without = 0;
    std::vector<std::string> bad;
    for (auto &r : run.reports) {
        if (r.failed) bad.push_back(r.op);
        passed += r.passed;
        failed += r.failed;
        skipped += r.skipped;
        without += r.passed + r.failed == 0;
    }
    std::printf("%zu ops: %d checks passed, %d failed, %d skipped", run.reports.size(), passed,
                failed, skipped);
    if (without) std::printf("; %d ops without a check that could run", without);
    std::printf("%s%s\n",
                bad.empty() ? "" : "\nrepeat: ", bad.empty() ? "" : repro_command(o, bad).c_str());
    if (!o.json.empty()) save_checks(o.json, run);
    return failed ? 1 : 0;
}

// Prints the first failure of each kind, or all of them, check by check.
void print_failures(const check::Report &r, bool all) {
    std::map<std::string, int> of_kind;
    for (auto &kind : r.kinds)
        of_kind[kind]++;
    for (size_t k = 0; k < r.failures.size(); k++) {
        int &left = of_kind[r.kinds[k]];
        if (left > 0 || all) std::printf("    %s\n", r.failures[k].c_str());
        if (left > 1 && !all) std::printf("      and %d more of this kind (--all)\n", left - 1);
        if (!all) left = 0;
    }
}

void print_report(const check::Report &r, const std::string &place, bool all) {
    std::printf("[%s] %-24s %s %6d passed", place.c_str(), r.op.c_str(),
                r.failed   ? "FAIL"
                : r.passed ? "ok  "
                           : "none",
                r.passed);
    if (r.failed) std::printf(", %d failed", r.failed);
    if (r.skipped) std::printf(", %d skipped", r.skipped);
    std::printf("\n");
    print_failures(r, all);
    for (auto &note : r.notes)
        std::printf("    skipped: %s\n", note.c_str());
    std::fflush(stdout);
}

// Returns the ops to check: the named ones, each with the op that it differentiates and all
// gradients of that; or all.
std::vector<std::string> ops_checked(const std::vector<std::string> &named) {
    std::vector<std::string> all;
    for (auto &name : named) {
        for (auto &member : check::family_of(name))
            if (std::find(all.begin(), all.end(), member) == all.end()) all.push_back(member);
    }
    return all;
}

// Returns true for a device whose programs are made for single calls: some may be refused.
bool has_programs(const std::string &device) {
    return device == "c" || is_ascend(device);
}

bool on_cpu(const CheckOptions &o) {
    return o.device.empty() || o.device == "cpu";
}

check::NamedChecks checks_asked_for(const CheckOptions &o, const Op &op,
                                    const check::Options &options) {
    if (is_ascend(o.device)) return {{"ascend", check::check_ascend}};
    if (o.device == "opencl" && o.legality) return {{"legality", check::check_opencl_legality}};
    if (o.device == "opencl" && !o.fuzz.empty()) return {{"fuzz", check::check_opencl_calls}};
    if (o.device == "opencl") return {{"device", check::check_device}};
    if (o.device == "cuda" && !o.fuzz.empty()) return {{"fuzz", check::check_cuda_calls}};
    if (o.device == "cuda") return {{"cuda", check::check_cuda}};
    if (o.device == "c") return {{"c", check::check_c99}};
    if (o.device == "aarch64") return {{"aarch64", check::check_remote}};
    if (!o.fuzz.empty()) return {{"fuzz", check::check_fuzz}};
    if (o.composes) return {{"composes", check::check_composes}};
    return check::checks_of(op, options);
}

// Fails for records of this op's kernels whose algorithm has changed since.
void check_records(const std::vector<tune::RecordFile> &files, const std::string &op,
                   check::Report &r) {
    for (auto &file : files) {
        const auto stale = tune::stale_lines(file, op);
        for (auto &line : stale)
            r.fail(line);
        if (stale.empty() && std::any_of(file.records.begin(), file.records.end(),
                                         [&](auto &record) { return record.op == op; }))
            r.pass();
    }
}

void refuse_idle_options(const CheckOptions &o, const CLI::App &sub) {
    if (!o.target.empty() && o.device != "c")
        throw AttrError("check", "--target does nothing without --device c");
    if (!o.fuzz_case.empty())
        refuse_idle(sub, "with --fuzz-case", {"ops", "--fuzz-case"});
    else if (o.mutants.any()) {
        refuse_idle(sub, "with --mutants",
                    {"ops", "--mutants", "--mutants-in-all", "--mutant", "--until-caught", "--seed",
                     "--json", "--jobs", "--isa", "--device"});
    } else if (o.mutants.until_caught)
        throw AttrError("check", "--until-caught does nothing without --mutants");
    else if (o.composes) {
        refuse_idle(sub, "with --composes",
                    {"ops", "--composes", "--quick", "--jobs", "--json", "--all"});
    } else if (!o.ulps.empty())
        refuse_idle(sub, "with --ulps", {"ops", "--ulps", "--isa", "--jobs"});
    else if (o.device == "c") {
        refuse_idle(
            sub, "with --device c",
            {"ops", "--device", "--target", "--quick", "--refused", "--jobs", "--json", "--all"});
    } else if (is_ascend(o.device)) {
        refuse_idle(sub, "with --device " + o.device,
                    {"ops", "--device", "--quick", "--refused", "--jobs", "--json", "--all"});
    } else if (o.device == "aarch64") {
        refuse_idle(sub, "with --device aarch64",
                    {"ops", "--device", "--quick", "--jobs", "--json", "--all"});
    } else if (o.device == "opencl" && o.legality) {
        refuse_idle(sub, "with --device opencl --legality",
                    {"ops", "--device", "--legality", "--quick", "--jobs", "--json", "--all"});
    } else if (is_gpu(o.device)) {
        refuse_idle(sub, "with --device " + o.device,
                    {"ops", "--device", "--fuzz", "--seed", "--jobs", "--json", "--all"});
    } else if (!o.fuzz.empty()) {
        refuse_idle(sub, "with --fuzz",
                    {"ops", "--fuzz", "--device", "--isa", "--seed", "--jobs", "--json", "--all"});
    }
}

check::Options options_of(const CheckOptions &o) {
    check::Options options;
    options.quick = o.quick;
    options.legality = o.legality;
    options.seed = o.seed;
    options.repro_options = repro_kernel_options();
    if (!o.target.empty()) {
        options.target = c99::target_of(o.target, "check");
        if (options.target != c99::Target::x86) c99::tools_of(options.target, "check");
    }
    // Opened here, so that the processes that check share it.
    if (o.device == "aarch64") options.kit = &check::aarch64_kit("check");
    if (!o.fuzz.empty()) set_fuzz(options, o.fuzz);
    for (auto &name : o.isas) {
        options.isas.push_back(isa_of(name));
        if (!host_runs(options.isas.back())) {
            throw DispatchError("isa",
                                name + " was asked for, this CPU has up to " + name_of(host_isa()));
        }
    }
    return options;
}

size_t jobs_of(const CheckOptions &o) {
    return o.jobs > 0 ? size_t(o.jobs) : usable_cores();
}

// Runs the checks of `names` in worker processes and prints each report. `named` are the ops of
// the command line.
check::CheckRun run_checks(const CheckOptions &o, const check::Options &options,
                           const std::vector<std::string> &names,
                           const std::vector<std::string> &named) {
    std::vector<tune::RecordFile> records;
    for (auto &path : o.records.empty() ? tune::committed_files() : o.records)
        records.push_back(tune::read_records(path));
    check::CheckRun run;
    run.quick = o.quick;
    run.seed = o.seed;
    run.isas = isas_checked(names, options);
    const bool has_other_checks = o.fuzz.empty() && on_cpu(o) && !o.composes;
    const auto from = std::chrono::steady_clock::now();
    const auto show = [&](size_t i, const check::Report &r) {
        print_report(r, std::to_string(i + 1) + "/" + std::to_string(names.size()), o.all);
        run.reports.push_back(r);
    };
    // If the cache can't be opened, a private one is made here, which the processes then share.
    kernel_cache();
    ProcessPool(jobs_of(o))
        .run_in_order(
            names.size(),
            [&](size_t i, const ProcessPool::Send &send) {
                const std::string &name = names[i];
                check::Report r = check::check_in_child(
                    name, checks_asked_for(o, *op_table().make(name), options), options);
                // Not every op has a program for Ascend, or a kernel of its own for random calls.
                // Only an op that was named must pass something.
                if (has_other_checks || std::find(named.begin(), named.end(), name) != named.end())
                    r.require_a_pass();
                if (has_other_checks) check_records(records, name, r);
                send(check::json_of(r).dump(-1, ' ', false,
                                            nlohmann::json::error_handler_t::replace));
            },
            [&](size_t i, const JobResult &result) {
                if (result.has_returned())
                    return show(i, check::report_of(nlohmann::json::parse(result.text())));
                check::Report r;
                r.op = names[i];
                r.fail("the process that checks it " + result.description());
                show(i, r);
            });
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    return run;
}

int check_ops(const CheckOptions &o) {
    if (!o.refused.empty() && !has_programs(o.device)) {
        throw AttrError("check", "--refused is a list of the simulated device's or of C99's: "
                                 "--device ascend or --device c");
    }
    if (!o.fuzz_case.empty()) {
        if (o.ops.size() != 1) throw AttrError("check", "--fuzz-case is a call of one op");
        return rerun_fuzz_case(o.ops[0], o.fuzz_case);
    }
    const check::Options options = options_of(o);
    list_kit_ops();
    if (is_ascend(o.device)) simulated_device().use_chip(o.device);
    std::vector<std::string> named;
    for (auto &name : o.ops)
        named.push_back(library().at(name).record.name);
    const std::vector<std::string> selected = !named.empty()          ? named
                                              : !loaded_ops().empty() ? loaded_ops()
                                                                      : op_table().names();
    if (o.mutants.any()) {
        MutantArguments a = o.mutants;
        a.seed = o.seed;
        a.json = o.json;
        a.programs = is_ascend(o.device);
        a.cuda = o.device == "cuda";
        a.repro_options = repro_options(o);
        if (o.jobs) a.at_once = o.jobs;
        return check_mutants(selected, a, options.isas);
    }
    if (!o.ulps.empty()) return check_ulps(selected, o.ulps, options.isas, jobs_of(o));
    std::vector<std::string> names = named.empty() ? selected : ops_checked(named);
    if (o.composes) names = check::add_compositions(names);
    const check::CheckRun run = run_checks(o, options, names, named);
    const int status = sum_up(run, o);
    if (!has_programs(o.device)) return status;
    return judge_rejections(run, o.refused, !o.quick) ? 1 : status;
}

void add_mutant_options(CLI::App &sub, MutantArguments &a) {
    sub.add_option("--mutants", a.per_op,
                   "Plant this many faults in each op and count which the checks find")
        ->check(CLI::PositiveNumber);
    sub.add_option("--mutants-in-all", a.in_all, "Plant this many faults in randomly drawn ops")
        ->check(CLI::PositiveNumber);
    sub.add_flag("--until-caught", a.until_caught,
                 "With --mutants: stop a fault's checks after the first that finds it");
    sub.add_option("--mutant", a.only, "One planted fault, as --mutants prints it");
}

}  // namespace

void add_check(CLI::App &app, Run &selected) {
    auto o = std::make_shared<CheckOptions>();
    CLI::App *sub = app.add_subcommand(
        "check", "Check ops: reference, exact schedules, gradients, views, zero sizes, threads");
    sub->add_option(
        "ops", o->ops,
        "Names, each checked with its gradients; default: all ops, or those of --kernels");
    sub->add_flag("--all", o->all, "Print every failure, not only the first of each kind");
    sub->add_flag("--quick", o->quick, "Fewer samples per kernel, no derived adjoints");
    sub->add_flag(
        "--legality", o->legality,
        "Also find races and accesses out of bounds of CPU kernels, compiled with sanitizers. With "
        "--device opencl: only what oclgrind finds in GPU kernels");
    sub->add_flag(
        "--composes", o->composes,
        "Only whether each op can be computed together with one before or after it, in one "
        "kernel, with the bits of the two");
    sub->add_option(
           "--device,--backend", o->device,
           "opencl, cuda, " + ascend_names() +
               ": only this device, which is simulated for cuda and Ascend, against the "
               "reference; c: the op as C99, compiled by cc; aarch64: the kit that make build "
               "ARCH=aarch64 makes, run by QEMU; default: cpu")
        ->check(cpu_or_ascend() | CLI::IsMember({"opencl", "cuda", "c", "aarch64"}));
    sub->add_option(
        "--refused", o->refused,
        "With --device ascend or c: a list of ops and dtypes that may lack programs; other "
        "ones without programs fail, and so do entries that have them all");
    sub->add_option("--target", o->target,
                    "With --device c: the machine, x86 (this one), ARM64, ARM32A or ARM32M (a "
                    "Cortex-M4), compiled by a cross compiler and run by QEMU");
    sub->add_option("--isa", o->isas,
                    "Levels to check: baseline,avx2,avx512; default: all of this CPU")
        ->delimiter(',');
    sub->add_option("--fuzz", o->fuzz,
                    "Only random calls of each op: 500 of them, or as many as 30s allow");
    sub->add_option("--seed", o->seed, "Seed of the random calls")
        ->check(whole_number(std::numeric_limits<unsigned>::max()));
    sub->add_option("--fuzz-case", o->fuzz_case,
                    "Repeat the call that a failure of random calls printed");
    sub->add_option(
        "--ulps", o->ulps,
        "Only the worst error of functions of one tensor, over this many f32 inputs, or all");
    sub->add_option("--records", o->records,
                    "Tuning records that must not be stale; default: those of the kit")
        ->allow_extra_args(false);
    sub->add_option("--jobs,-j", o->jobs,
                    "Ops at once, each in its own process; default: the number of cores")
        ->check(CLI::Range(1, 1024));
    sub->add_option("--json", o->json, "Write the results to this file, check by check");
    add_mutant_options(*sub, o->mutants);
    sub->callback([o, sub, &selected] {
        refuse_idle_options(*o, *sub);
        selected = [o] { return check_ops(*o); };
    });
}

}  // namespace halyard::command
