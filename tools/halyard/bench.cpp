// halyard bench: all variants of an op side by side, beside other libraries, each with its error.
#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "registry/parallel.h"
#include "tools/halyard/call.h"
#include "tools/halyard/command.h"
#include "tools/halyard/machine.h"
#include "tools/halyard/table.h"
#include "tools/halyard/timing.h"

namespace halyard::command {
namespace {

struct Options {
    std::string op, dtype, json;
    std::vector<std::string> shapes;
    Selection selection;
    Timing timing;
};

int bench(Options o) {
    const RegisteredOp &op = op_with_kernels(o.op);
    check_variant(op.record, o.selection.variant);
    if (o.selection.isa != "all") Target("cpu", o.selection.isa, "");
    if (o.selection.threads.empty()) o.selection.threads = {threads()};
    list_all_ops(op_table());
    const std::string dtypes = dtype_set(op.record, o.dtype);
    std::vector<std::string> problems = o.shapes.empty() ? op.record.bench : o.shapes;
    if (problems.empty()) problems = {problems_of(op.record).back()};

    char name[] = "halyard", *argv[] = {name, nullptr};
    int argc = 1;
    benchmark::Initialize(&argc, argv);
    print_machine();
    bool kept = true;
    Runs runs;
    for (auto &text : problems) {
        const Trial t(op, text, dtypes);
        const std::vector<Tensor> like = outputs_of(t);
        const Expected expected(t, like);
        Work work{flops_of(op.record, t.dims), 0};
        for (auto *list : {&t.in, &like})
            for (const Tensor &x : *list) work.bytes += (double)x.bytes();
        std::vector<std::string> refused;
        auto subjects = subjects_of(t, dtypes, o.selection, expected, like, refused);
        std::string path = o.op + "/" + text + "/" + dtypes;
        std::replace(path.begin(), path.end(), ' ', ',');
        measure(subjects, path, o.timing, runs);
        std::printf("\n%s %s %s\n", o.op.c_str(), text.c_str(), dtypes.c_str());
        if (subjects.empty()) throw DispatchError(o.op, "no kernel of this selection takes '" + text + "'");
        print_table(subjects, columns_of(subjects, work, expected));
        for (auto &r : refused) std::printf("    not for this shape: %s\n", r.c_str());
        std::printf("  error: max |error| / max |expected|, against %s\n",
                    expected.known() ? expected.source().c_str() : "nothing: too large for the reference, and there is no f64 kernel");
        for (auto &s : subjects) kept &= s.verdict.breach.empty() || s.peer;
    }
    std::printf("\n* = what a call without limits takes. x PEER: the peer's time over ours, of the minima (of the medians); above 1 ours is faster.\n");
    std::printf("%d interleaved rounds of %g s per kernel.\n", o.timing.rounds, o.timing.min_time);
    if (!o.json.empty()) save_json(o.json, runs);
    return kept ? 0 : 1;
}

}  // namespace

void add_bench(CLI::App &app, Run &chosen) {
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand("bench", "Time an op's kernels side by side, beside other libraries");
    sub->footer("A kernel whose result leaves the op's error bound gets no time, and the exit status is 1.");
    sub->add_option("op", o->op, "Name of the op")->required();
    sub->add_option("--shape,-s", o->shapes, "A problem such as \"m=512 k=512 n=512\"; without, those of the op's record")->allow_extra_args(false);
    sub->add_option("--dtype", o->dtype, "f32, f16, ... (f32,i32 where the op has two)");
    sub->add_option("--isa", o->selection.isa, "all, or one level: baseline, avx2, avx512; limits the peers too")->capture_default_str();
    sub->add_option("--variant", o->selection.variant, "Only this variant");
    sub->add_option("--threads", o->selection.threads, "Numbers of threads to time: 1,2")->delimiter(',')->check(CLI::Range(1, 1024));
    sub->add_flag("--picks", o->selection.picks, "Other values of the schedules' free choices too, compiled now");
    sub->add_flag("--cold", o->selection.cold, "From memory: calls go round copies of the tensors that no cache holds");
    sub->add_option("--json", o->json, "Write all runs to this file, in Google Benchmark's format");
    sub->add_option("--rounds", o->timing.rounds, "Interleaved rounds")->check(CLI::Range(1, 1000))->capture_default_str();
    sub->add_option("--min-time", o->timing.min_time, "Seconds per kernel and round")->check(CLI::Range(1e-4, 60.0))->capture_default_str();
    sub->callback([o, &chosen] { chosen = [o] { return bench(*o); }; });
}

}  // namespace halyard::command
