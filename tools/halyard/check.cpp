// halyard check: an op against everything its record promises.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "dsl/all_ops.h"
#include "primitives/library.h"
#include "tools/check/fuzz.h"
#include "tools/halyard/check_json.h"
#include "tools/halyard/command.h"
#include "tools/halyard/kernels.h"
#include "tools/halyard/mutants.h"
#include "tools/halyard/ulps.h"
#include "tools/halyard/workers.h"
#include "tools/tune/stale.h"

namespace halyard::command {
namespace {

struct Options {
    std::vector<std::string> ops, isas, records;
    std::string fuzz, fuzz_case, ulps, json, device;
    unsigned seed = 1;
    int jobs = 0;
    bool quick = false, legality = false;
    MutantArguments mutants;
};

// "500" calls or "30s" of calls, of each op.
void set_fuzz(check::Options &options, const std::string &text) {
    char *end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    if (!(number > 0 && number < 1e9) || (unit != "" && unit != "s"))
        throw AttrError("check", "--fuzz is '" + text + "', expected a number of calls or of seconds: 500 or 30s");
    if (unit == "s") options.fuzz_seconds = number;
    else options.fuzz_cases = (int)number;
}

int run_again(const std::string &name, const std::string &text) {
    list_all_ops(op_table());
    const OpPtr op = op_table().make(library().at(name).record.name);
    if (!op || op->form == Form::composite) throw AttrError(name, "has no kernel of its own to fuzz");
    const std::string error = check::run_fuzz_case(*op, check::parse_fuzz_case(*op, text));
    std::printf("%s '%s': %s\n", name.c_str(), text.c_str(), error.empty() ? "ok" : error.c_str());
    return error.empty() ? 0 : 1;
}

size_t cores() {  // that this process may use
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

// The levels of this CPU that any of the ops has kernels for, or those that were asked for.
std::vector<std::string> isas_checked(const std::vector<std::string> &ops, const check::Options &o) {
    std::set<Isa> all(o.isas.begin(), o.isas.end());
    if (all.empty())
        for (auto &name : ops)
            for (const KernelEntry &k : library().at(name).kernels)
                if (k.backend == "cpu" && k.isa <= host_isa()) all.insert(k.isa);
    std::vector<std::string> names;
    for (Isa isa : all) names.push_back(name_of(isa));
    return names;
}

int sum_up(const CheckRun &run, const std::string &json) {
    int passed = 0, failed = 0, skipped = 0;
    std::string bad;
    for (auto &r : run.reports) {
        if (r.failed) bad += " " + r.op;
        passed += r.passed, failed += r.failed, skipped += r.skipped;
    }
    std::printf("%zu ops: %d checks passed, %d failed, %d skipped%s%s\n", run.reports.size(), passed, failed, skipped,
                bad.empty() ? "" : "\nagain: halyard check", bad.c_str());
    if (!json.empty()) save_checks(json, run);
    return failed ? 1 : 0;
}

// Records of this op's kernels tell about what it computes now.
void check_records(const std::vector<tune::RecordFile> &files, const std::string &op, check::Report &r) {
    for (auto &file : files) {
        const auto stale = tune::stale_lines(file, op);
        for (auto &line : stale) r.fail(line);
        if (stale.empty() && std::any_of(file.records.begin(), file.records.end(), [&](auto &record) { return record.op == op; })) r.pass();
    }
}

int check_ops(const Options &o) {
    if (!o.fuzz_case.empty()) {
        if (o.ops.size() != 1) throw AttrError("check", "--fuzz-case is a call of one op");
        return run_again(o.ops[0], o.fuzz_case);
    }
    check::Options options;
    options.quick = o.quick, options.legality = o.legality, options.seed = o.seed;
    if (!o.fuzz.empty()) set_fuzz(options, o.fuzz);
    for (auto &name : o.isas) {
        options.isas.push_back(isa_of(name));
        if (options.isas.back() > host_isa()) throw DispatchError("isa", name + " was asked for, this CPU has up to " + name_of(host_isa()));
    }
    list_all_ops(op_table());
    std::vector<std::string> asked;
    for (auto &name : o.ops) asked.push_back(library().at(name).record.name);
    const std::vector<std::string> names = !asked.empty() ? asked : !loaded_ops().empty() ? loaded_ops() : op_table().names();
    if (o.mutants.per_op || !o.mutants.only.empty()) {
        MutantArguments a = o.mutants;
        a.seed = o.seed, a.json = o.json;
        if (o.jobs) a.at_once = o.jobs;
        return check_mutants(names, a, options.isas.empty() ? host_isa() : options.isas.back());
    }
    if (!o.ulps.empty()) return check_ulps(names, o.ulps, options.isas, o.jobs > 0 ? (size_t)o.jobs : cores());
    std::vector<tune::RecordFile> records;
    for (auto &path : o.records.empty() ? tune::committed_files() : o.records) records.push_back(tune::read_records(path));
    CheckRun run;
    run.quick = o.quick, run.seed = o.seed;
    run.isas = isas_checked(names, options);
    const auto from = std::chrono::steady_clock::now();
    const auto show = [&](size_t i, const check::Report &r) {
        std::printf("[%zu/%zu] %-24s %s %6d passed", i + 1, names.size(), names[i].c_str(), r.failed ? "FAIL" : "ok  ", r.passed);
        if (r.failed) std::printf(", %d failed", r.failed);
        if (r.skipped) std::printf(", %d skipped", r.skipped);
        std::printf("\n");
        for (auto &f : r.failures) std::printf("    %s\n", f.c_str());
        for (auto &n : r.notes) std::printf("    skipped: %s\n", n.c_str());
        std::fflush(stdout);
        run.reports.push_back(r);
    };
    in_workers(
        names.size(), o.jobs > 0 ? (size_t)o.jobs : cores(),
        [&](size_t i) {
            if (o.device == "ascend") return json_of(check::run_check(*op_table().make(names[i]), "ascend", check::check_ascend, options)).dump();
            check::Report r = o.fuzz.empty() ? check::check_op(names[i], options) : check::fuzz_op(names[i], options);
            if (o.fuzz.empty()) check_records(records, names[i], r);
            return json_of(r).dump();
        },
        [&](size_t i, const std::string &text) { show(i, report_of(nlohmann::json::parse(text))); },
        [&](size_t i, const std::string &how) {
            check::Report r;
            r.op = names[i];
            r.fail(how);
            show(i, r);
        });
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    return sum_up(run, o.json);
}

}  // namespace

void add_check(CLI::App &app, Run &chosen) {
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand("check", "Check ops: reference, exact schedules, gradients, views, zero sizes, threads");
    sub->add_option("ops", o->ops, "Names; none = all ops, or those of --kernels");
    sub->add_flag("--quick", o->quick, "Fewer samples per kernel, no derived adjoints");
    sub->add_flag("--legality", o->legality, "Races and accesses out of bounds of CPU kernels too: compiles each with the sanitizers");
    sub->add_option("--device,--backend", o->device, "ascend: only the simulated device against the reference")->check(CLI::IsMember({"cpu", "ascend"}));
    sub->add_option("--isa", o->isas, "Levels to check: baseline,avx2,avx512 (default: all of this CPU)")->delimiter(',');
    sub->add_option("--fuzz", o->fuzz, "Only random calls of each op: 500 of them, or 30s");
    sub->add_option("--seed", o->seed, "Other random calls");
    sub->add_option("--fuzz-case", o->fuzz_case, "The call that a failure of random calls printed, again");
    sub->add_option("--ulps", o->ulps, "Only the worst error of functions of one tensor, over so many f32 inputs, or all");
    sub->add_option("--records", o->records, "Tuning records that must not be stale; default: those that come with the kit")->allow_extra_args(false);
    sub->add_option("--jobs,-j", o->jobs, "Ops at once, each in a process of its own; default: as many as there are cores")->check(CLI::Range(1, 1024));
    sub->add_option("--json", o->json, "File for the results, check by check");
    sub->add_option("--mutants", o->mutants.per_op, "Plant so many faults into each op and see which the checks find")->check(CLI::PositiveNumber);
    sub->add_option("--mutant", o->mutants.only, "One planted fault, as --mutants prints it");
    sub->callback([o, &chosen] { chosen = [o] { return check_ops(*o); }; });
}

}  // namespace halyard::command
