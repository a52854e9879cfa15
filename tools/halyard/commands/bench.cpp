// halyard bench: times all variants of an op against each other and against other libraries, with
// the error of each.
#include <random>

#include "bench/harness/benchmark_json.h"
#include "bench/harness/case_list.h"
#include "bench/harness/comparison.h"
#include "bench/harness/kit_file.h"
#include "bench/harness/machine.h"
#include "bench/harness/op_call.h"
#include "bench/harness/roofline.h"
#include "bench/harness/sample_run.h"
#include "bench/harness/shape_set.h"
#include "bench/harness/suite.h"
#include "bench/harness/system_load.h"
#include "bench/harness/table.h"
#include "bench/harness/timing.h"
#include "bench/harness/tunables.h"
#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "registry/base/parallel.h"
#include "registry/base/text.h"
#include "registry/dispatch/cuda_driver.h"
#include "registry/dispatch/simulated.h"
#include "tools/halyard/command.h"
#include "tools/halyard/commands/ascend.h"
#include "tools/halyard/commands/bench_cuda.h"
#include "tools/halyard/kernels.h"
#include "tools/halyard/option.h"

namespace halyard::command {
using namespace bench;
namespace {

struct BenchOptions {
    std::string op, dtype, device, model, json, set, suite, group, out;
    std::vector<std::string> shapes, pair;  // pair: --compare A B
    Selection selection;
    Timing timing;
    double wait_quiet = 0;  // seconds
    int64_t sample = 0;     // problems to draw
    SampleRequest request;
    bool list = false;
};

// Returns the problems to time: those of the command line, of a set, or of the op's record.
std::vector<ShapeLine> problem_lines(const BenchOptions &o) {
    std::vector<ShapeLine> lines;
    if (!o.set.empty()) lines = shape_set(o.set, o.op);
    for (auto &text : o.shapes)
        lines.push_back({o.op, text, ""});
    if (lines.empty()) {
        const OpRecord &record = op_with_kernels(o.op).record;
        for (auto &text : record.bench)
            lines.push_back({o.op, text, ""});
        if (lines.empty()) lines = {{o.op, problems_of(record).back(), ""}};
    }
    for (auto &c : lines) {
        const OpRecord &record = op_with_kernels(c.op).record;
        variant_called(record, o.selection.variant, o.device);  // throws for an unknown one
        dtype_set(record, o.dtype);
    }
    return lines;
}

// Returns the command that repeats the measurement of one problem.
std::string repro_command(const BenchOptions &o, const ShapeLine &c) {
    const Selection &s = o.selection;
    std::string text = "halyard bench " + c.op + " --shape \"" + c.problem + "\" --isa " + s.isa +
                       " --threads " + join(s.threads, ",");
    if (!o.dtype.empty()) text += " --dtype " + o.dtype;
    if (!s.variant.empty()) text += " --variant " + s.variant;
    if (!s.device.empty()) text += " --device " + s.device;
    if (s.tunables) text += " --all-picks";
    if (s.cold) text += " --cold";
    if (!s.frameworks.empty())
        text += " --peers " + join(s.frameworks, ",") + " --python " + s.python;
    if (!o.pair.empty()) text += " --compare " + join(o.pair, " ");
    return text + repro_kernel_options() + " --rounds " + std::to_string(o.timing.rounds) +
           " --min-time " + text_of("%g", o.timing.min_time);
}

// Adds counters for the JSON file: the work and the binding roof.
void add_counters(std::deque<BenchmarkCase> &cases, const Roofline &roofline) {
    for (BenchmarkCase &s : cases) {
        if (s.seconds.empty()) continue;
        s.counters["flops"] = roofline.operations();
        s.counters["least_flops"] = roofline.least_operations();
        s.counters["bytes"] = roofline.bytes();
        if (!s.device.empty()) continue;
        const roofs::Bound bound = roofline.bound(s.isa, s.threads);
        if (bound.by.empty()) continue;
        s.counters["roof_seconds"] = bound.seconds;
        s.counters["roof_share"] = bound.seconds / least(s.seconds);
    }
}

void print_rounds(const Rounds &r) {
    if (r.repeated + r.noisy == 0) return;
    std::printf("  warning: noisy rounds: %d, of which repeated: %d; involuntary "
                "context switches: %ld",
                r.repeated + r.noisy, r.repeated, r.switches);
    if (r.steal > 0.001) std::printf(", %.1f %% of a core's time stolen", r.steal * 100);
    if (r.pressure > 0.01)
        std::printf(", tasks waited for a core %.0f %% of the time", r.pressure * 100);
    std::printf("\n");
}

Column relative_column(const std::string &title) {
    auto text = [](const BenchmarkCase &s) {
        if (!s.relative) return std::string();
        return s.dispatched ? noise_text(*s.relative) : text_of(*s.relative);
    };
    return {title, text, true};
}

// Prints the results of --compare A B: one line for each number of threads.
void print_pairs(const std::deque<BenchmarkCase> &pairs) {
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
        const BenchmarkCase &a = pairs[i];
        const BenchmarkCase &b = pairs[i + 1];
        std::printf("  threads: %d  %s against %s: %s; %s\n", a.threads, a.label.c_str(),
                    b.label.c_str(), text_of(*a.relative).c_str(), noise_text(*a.relative).c_str());
    }
}

// Times one problem, prints it and appends its runs. Returns false if a kernel violates the
// contract.
bool bench_problem(const BenchOptions &o, const ShapeLine &c, Runs &runs) {
    const RegisteredOp &op = op_with_kernels(c.op);
    const std::string dtypes = dtype_set(op.record, o.dtype);
    const ProblemInstance t(op, c.problem, dtypes);
    const std::vector<Tensor> like = outputs_of(t);
    const Expected expected(t, like);
    const Roofline roofline(t, like, o.selection.cold);
    std::vector<std::string> rejected;
    auto cases = kernel_cases(t, dtypes, o.selection, expected, like, rejected);
    std::printf("\n%s %s %s%s\n", c.op.c_str(), c.problem.c_str(), dtypes.c_str(),
                c.note.empty() ? "" : ("  # " + c.note).c_str());
    if (!o.pair.empty()) cases = ab_cases(c.op, cases, o.pair);
    if (cases.empty())
        throw DispatchError(c.op, "no kernel of this selection takes '" + c.problem + "'");
    // The load is read for each problem, because it changes.
    const Load load = warn_of_others(
        *std::max_element(o.selection.threads.begin(), o.selection.threads.end()), o.wait_quiet);
    machine_roofs();  // measured, if necessary, while nothing else is
    const Rounds rounds = measure(cases, o.timing);
    add_counters(cases, roofline);
    if (o.pair.empty())
        compare_with_dispatched(cases);
    else
        compare_pairs(cases);
    if (!leaves_a_core(load) || !rounds.left_a_core) withdraw_answers(cases, no_idle_core);

    auto columns = columns_of(cases, roofline, expected);
    if (o.pair.empty()) columns.insert(columns.begin() + 2, relative_column("against *"));
    print_table(cases, columns);
    for (auto &s : cases) {
        if (!s.imprecise.empty() && s.threads == cases[0].threads) {
            std::printf("  ! %s leaves our error bound: %s\n", s.label.c_str(),
                        s.imprecise.c_str());
        }
    }
    if (o.pair.empty()) {
        for (auto &r : rejected)
            std::printf("    not for this shape: %s\n", r.c_str());
    }
    std::printf("  error: max |error| / max |expected|, against %s\n",
                expected.known()
                    ? expected.source().c_str()
                    : "nothing: too large for the reference, and there is no f64 kernel");
    if (o.pair.empty()) {
        for (auto &line : regret_lines(cases))
            std::printf("  %s\n", line.c_str());
    } else
        print_pairs(cases);
    print_rounds(rounds);
    std::printf("  repeat: %s\n", repro_command(o, c).c_str());

    std::string path = c.op + "/" + c.problem + "/" + dtypes;
    std::replace(path.begin(), path.end(), ' ', ',');
    collect(cases, path, repro_command(o, c), runs);
    bool kept = true;
    for (auto &s : cases)
        kept &= s.accuracy.violation.empty() || s.peer;
    return kept;
}

// Initialises Google Benchmark and prints the head of the output.
void begin() {
    static char name[] = "halyard";  // Google Benchmark keeps its pointer
    char *argv[] = {name, nullptr};
    int argc = 1;
    benchmark::Initialize(&argc, argv);
    print_machine();
    add_context();
}

int bench_suite(const BenchOptions &o) {
    const std::string isa = o.selection.isa == "all" ? "" : o.selection.isa;
    const std::optional<Target> limit = isa.empty() ? std::nullopt
                                                    : std::make_optional<Target>("cpu", isa, "");
    SuiteOptions all{o.suite, o.group, o.out, o.selection, o.timing, o.wait_quiet};
    if (all.selection.threads.empty()) all.selection.threads = {1, 2};
    if (all.timing.rounds == 0) all.timing.rounds = 9;
    if (all.timing.min_time == 0) all.timing.min_time = 0.01;
    list_kit_ops();
    begin();
    return run_suite(all) ? 0 : 1;
}

int bench_sample(const BenchOptions &o) {
    SampleOptions all{o.sample, o.request, o.list, o.out, o.json, o.selection, o.timing};
    all.request.op = o.op;
    all.request.dtype = o.dtype;
    if (!o.op.empty()) op_with_kernels(o.op);  // throws for an unknown one
    if (all.selection.threads.empty()) all.selection.threads = {threads()};
    if (all.timing.rounds == 0) all.timing.rounds = 9;
    if (all.timing.min_time == 0) all.timing.min_time = 0.002;
    list_kit_ops();
    if (!o.list) begin();
    return run_sample(all) ? 0 : 1;
}

int bench_on_ascend(const BenchOptions &o) {
    if (o.op.empty())
        throw AttrError("bench",
                        "--device " + o.device + " times one op at a time, and none is named");
    std::vector<std::string> problems;
    for (auto &c : problem_lines(o))
        problems.push_back(c.problem);
    list_kit_ops();
    simulated_device().use_chip(o.device);
    return bench_ascend(op_with_kernels(o.op).record.name, problems, o.dtype) ? 0 : 1;
}

int bench_by_model(const BenchOptions &o) {
    if (o.op.empty()) throw AttrError("bench", "--model times one op at a time, and none is named");
    std::vector<std::string> problems;
    for (auto &c : problem_lines(o))
        problems.push_back(c.problem);
    list_kit_ops();
    const std::string &name = op_with_kernels(o.op).record.name;
    const bool is_right = bench_cuda(name, problems, o.dtype, o.selection.variant, o.model);
    return is_right ? 0 : 1;
}

// Selects the GPU that --device names. Throws DeviceError if it is the model of one.
void select_device(BenchOptions &o) {
    if (!is_gpu(o.device)) return;
    if (o.device == "cuda" && cuda_symbol("halyard_cuda_model_times")) {
        throw DeviceError("bench", "the CUDA driver is the PTX machine, which interprets kernels: "
                                   "--model a6000, a100 or h100 models a GPU's time");
    }
    o.selection.device = o.device;
}

int bench(BenchOptions o) {
    if (o.selection.isa != "all") Target("cpu", o.selection.isa, "");
    if (o.selection.threads.empty()) o.selection.threads = {threads()};
    for (auto &label : o.pair) {
        o.selection.only.push_back(planted_slowdown("bench", label).first);
        o.selection.tunables |= label.find('=') != std::string::npos;
    }
    if (o.timing.rounds == 0) o.timing.rounds = o.pair.empty() ? 15 : 51;
    if (o.timing.min_time == 0) o.timing.min_time = o.pair.empty() ? 0.01 : 0.005;
    list_kit_ops();
    select_device(o);
    const auto lines = problem_lines(o);

    begin();
    bool kept = true;
    Runs runs;
    for (auto &c : lines) {
        kept &= bench_problem(o, c, runs);
        // each time, because a long set may be interrupted
        if (!o.json.empty()) save_json(o.json, runs);
    }
    std::printf("\nof the roof: the least time that this machine's roofs allow (halyard roofs) "
                "over the fastest round, and what binds: operations of an ISA, or\n"
                "the bytes of the level of memory that holds all tensors. GFLOP/s and GB/s are of "
                "what the op's definitions count.\n"
                "Above 100 %%: other processes ran while the roofs were measured (halyard "
                "roofs --remeasure).\n");
    if (o.pair.empty()) {
        std::printf("\n* = the kernel that a call without limits gets. against *: with 99 %% "
                    "confidence faster, slower or cannot tell; noise: how much * differs from "
                    "itself.\nx PEER: the peer's time over ours, of the minima (of the medians); "
                    "above 1 ours is faster.\n");
    }
    std::printf("%d interleaved rounds of %g s per kernel.\n", o.timing.rounds, o.timing.min_time);
    return kept ? 0 : 1;
}

void refuse_idle_options(const BenchOptions &o, const CLI::App &sub) {
    if (o.sample > 0) {
        refuse(sub, "with --sample",
               {"--shape", "--shapes", "--suite", "--group", "--device", "--variant", "--compare",
                "--all-picks", "--wait-quiet"});
    } else
        refuse(sub, "without --sample", {"--seed", "--max-mb", "--max-mops", "--list"});
    if (o.device != "cuda") refuse(sub, "without --device cuda", {"--model"});
    if (is_gpu(o.device)) refuse(sub, "with --device " + o.device, {"--cold", "--compare"});
    if (o.list) refuse(sub, "with --list", {"--out", "--json", "--peers", "--threads"});
    if (!o.suite.empty()) {
        refuse(sub, "with --suite",
               {"op", "--shape", "--shapes", "--dtype", "--device", "--variant", "--compare",
                "--all-picks", "--json"});
    } else if (is_ascend(o.device)) {
        refuse_idle(sub, "with --device " + o.device,
                    {"op", "--shape", "--shapes", "--dtype", "--device"});
    } else if (!o.model.empty()) {
        refuse_idle(sub, "with --model",
                    {"op", "--shape", "--shapes", "--dtype", "--device", "--variant", "--model"});
    } else if (o.sample == 0)
        refuse(sub, "without --suite or --sample", {"--group", "--out"});
    if (o.selection.frameworks.empty()) refuse(sub, "without --peers", {"--python"});
}

}  // namespace

namespace {

// Declares the options that select the problems.
void add_problem_options(CLI::App *sub, BenchOptions *o) {
    sub->add_option("op", o->op, "Name of the op; with --shapes it may be left out");
    sub->add_option("--shape,-s", o->shapes,
                    "A problem such as \"m=512 k=512 n=512\"; default: those of the op's record")
        ->allow_extra_args(false);
    sub->add_option("--shapes", o->set,
                    "A set of problems: " + join(shape_set_names()) +
                        ", or a file with lines like \"matmul m=1 k=512 n=1000 g=1\"");
    sub->add_option("--suite", o->suite,
                    "A suite, which is groups of problems with goals: " +
                        join(kit_files("suites")) + ", or a file; each op is called whole");
    sub->add_option("--group", o->group, "Only groups of the suite with this in their title");
    sub->add_option("--out", o->out,
                    "Write the results of a suite or a sample to this Markdown file");
    sub->add_option("--dtype", o->dtype, "f32, f16, ... (f32,i32 where the op has two)");
    sub->add_option("--device,--backend", o->device,
                    ascend_names() +
                        ": simulated, in cycles; opencl, cuda: also the kernels of that GPU; "
                        "default: cpu")
        ->check(cpu_or_ascend() | CLI::IsMember({"opencl", "cuda"}));
    sub->add_option("--model", o->model,
                    "With --device cuda: kernels run on the PTX machine, and a model says how long "
                    "this GPU would take: a6000, a100, h100");
}

// Declares the options of --sample.
void add_sample_options(CLI::App *sub, BenchOptions *o) {
    sub->add_option("--sample", o->sample,
                    "Draw this many problems of all ops, or of one: layers of networks and random "
                    "ones around them")
        ->check(CLI::Range(1, 100000));
    sub->add_option("--seed", o->request.seed,
                    "The same seed draws the same problems; default: a new one, which is printed");
    sub->add_option("--max-mb", "Most megabytes of a drawn call's tensors")
        ->each([o](const std::string &mb) { o->request.limits.bytes = std::stod(mb) * 1e6; })
        ->check(CLI::Range(0.001, 1e6))
        ->default_str(text_of("%g", o->request.limits.bytes * 1e-6));
    sub->add_option("--max-mops", "Most millions of operations of a drawn call")
        ->each(
            [o](const std::string &mops) { o->request.limits.operations = std::stod(mops) * 1e6; })
        ->check(CLI::Range(0.001, 1e6))
        ->default_str(text_of("%g", o->request.limits.operations * 1e-6));
    sub->add_flag("--list", o->list, "Print the drawn problems, as --shapes reads them");
}

// Declares the options that select kernels and peers, and how they are timed.
void add_timing_options(CLI::App *sub, BenchOptions *o) {
    sub->add_option("--isa", o->selection.isa,
                    "all, or one level: baseline, avx2, avx512; limits the peers too")
        ->capture_default_str();
    sub->add_option("--variant", o->selection.variant, "Only this variant");
    sub->add_option(
           "--compare", o->pair,
           "Compare two labels of the table, or chosen, the dispatched kernel; +5% slows one down")
        ->expected(2)
        ->type_name("A B");
    sub->add_option("--threads", o->selection.threads, "Numbers of threads to time: 1,2")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
    sub->add_option("--peers", o->selection.frameworks,
                    "Python frameworks to time in the same rounds: pytorch,onnxruntime,mindspore")
        ->delimiter(',')
        ->check(CLI::IsMember({"pytorch", "onnxruntime", "mindspore"}));
    sub->add_option("--python", o->selection.python, "The interpreter that has them")
        ->capture_default_str();
    sub->add_flag("--all-picks", o->selection.tunables,
                  "Also kernels with other values of the schedules' tunables, compiled now");
    sub->add_flag(
        "--cold", o->selection.cold,
        "Read from memory: calls cycle through more copies of the tensors than caches hold");
    sub->add_option("--wait-quiet", o->wait_quiet,
                    "Wait up to this many seconds until other processes leave enough cores idle")
        ->check(CLI::Range(0.0, 86400.0));
    sub->add_option("--json", o->json, "Write all runs to this file, in Google Benchmark's format");
    sub->add_option("--rounds", o->timing.rounds,
                    "Interleaved rounds; default 15, with --compare 51")
        ->check(CLI::Range(1, 1000));
    sub->add_option("--min-time", o->timing.min_time,
                    "Seconds per kernel and round; default 0.01, with --compare 0.005")
        ->check(CLI::Range(1e-4, 60.0));
}

}  // namespace

void add_bench(CLI::App &app, Run &selected) {
    auto o = std::make_shared<BenchOptions>();
    CLI::App *sub = app.add_subcommand(
        "bench", "Time an op's kernels against each other and against other libraries");
    sub->footer("A kernel whose result exceeds the op's error bound is not timed, and the exit "
                "status is 1.");
    add_problem_options(sub, o.get());
    add_sample_options(sub, o.get());
    add_timing_options(sub, o.get());
    sub->callback([o, sub, &selected] {
        const bool suite = !o->suite.empty();
        refuse_idle_options(*o, *sub);
        if (o->sample > 0) {
            if (sub->get_option("--seed")->count() == 0) o->request.seed = std::random_device()();
            selected = [o] { return bench_sample(*o); };
            return;
        }
        if (!suite && o->op.empty() && (o->set.empty() || !o->shapes.empty()))
            throw CLI::RequiredError("op, --suite, or --shapes without --shape,");
        selected = [o, suite] {
            if (suite) return bench_suite(*o);
            if (!o->model.empty()) return bench_by_model(*o);
            return is_ascend(o->device) ? bench_on_ascend(*o) : bench(*o);
        };
    });
}

}  // namespace halyard::command
