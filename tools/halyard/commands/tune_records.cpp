// halyard tune on files of records: merges and compares them, explains decisions, and prints values
// to paste.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "bench/harness/benchmark_case.h"
#include "bench/harness/op_call.h"
#include "bench/harness/tunables.h"
#include "registry/base/atomic_file.h"
#include "registry/base/text.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/planner.h"
#include "tools/halyard/commands/tune.h"
#include "tools/tune/bucket.h"
#include "tools/tune/stale.h"

namespace halyard::command {
using namespace bench;
namespace {

using tune::Record;

std::string records_path(const TuneOptions &o) {
    return o.records.empty() ? default_records(o.ops[0]) : o.records;
}

// Returns the place of `r`: its file and line.
std::string place_of(const tune::RecordFile &file, const Record &r) {
    const auto at = std::find_if(file.records.begin(), file.records.end(),
                                 [&](const Record &other) { return text_of(other) == text_of(r); });
    return file.path + ":" + std::to_string(file.lines[size_t(at - file.records.begin())]);
}

std::string line_of(const Record &r) {
    char text[80];
    std::snprintf(text, sizeof text, "%.3f (%.3f..%.3f) of the default's time, ", r.ratio, r.low,
                  r.high);
    return (r.timed() ? text : "") + r.verdict + ": " +
           (r.schedule == "own" ? "" : "[" + r.schedule + "] ") + r.variant + " " +
           tune::tunables_text(r.tunables) + " on '" + r.problem + "'";
}

// The comparison of a candidate with its own variant's default, over all problems where both were
// measured.
struct Standing {
    int problems = 0;
    double log_sum = 0, worst = 0;
    bool better = false, worse = false;  // with confidence, on some problem
    bool proved = false;                 // on some problem
};

}  // namespace

int merge_records(const TuneOptions &o) {
    std::vector<tune::RecordFile> files;
    bool refused = false;
    for (auto &path : o.merge) {
        files.push_back(tune::read_records(path));
        refused |= complain(files.back().refused);
    }
    std::string text;
    size_t count = 0;
    for (const Record &r : tune::merged(files)) {
        text += text_of(r) + "\n";
        count++;
    }
    if (o.out.empty()) {
        std::fputs(text.c_str(), stdout);
        return refused;
    }
    write_file(o.out, text, Durability::to_system);
    std::printf("%zu records in %s\n", count, o.out.c_str());
    return refused;
}

int diff_records(const TuneOptions &o) {
    const tune::RecordFile a = tune::read_records(o.diff[0]);
    const tune::RecordFile b = tune::read_records(o.diff[1]);
    const bool refused = complain(a.refused) | complain(b.refused);
    const auto lines = differences(a, b);
    for (auto &line : lines)
        std::printf("%s\n", line.c_str());
    std::printf("%zu records, %zu records, %zu differences\n", a.records.size(), b.records.size(),
                lines.size());
    return refused;
}

namespace {

// Prints what decides a question, and which records were not used.
void print_decision(const tune::RecordFile &file, const tune::Decision &d) {
    if (d.best) {
        std::printf("  %s decides: %s\n", place_of(file, *d.best).c_str(),
                    line_of(*d.best).c_str());
    } else {
        std::printf("  the default stands: %s\n", d.usable.empty()
                                                      ? "no record of this bucket can be used"
                                                      : "no record is faster beyond doubt");
    }
    for (const Record *r : d.usable) {
        if (r != d.best)
            std::printf("    %s: %s\n", place_of(file, *r).c_str(), line_of(*r).c_str());
    }
    for (auto &[r, why] : d.refused)
        std::printf("    %s: not used: %s\n", place_of(file, *r).c_str(), why.c_str());
}

}  // namespace

int explain_records(const TuneOptions &o) {
    tune::Compiler compiler;
    const RegisteredOp &op = op_with_kernels(o.ops[0]);
    const std::string dtypes = dtype_set(op.record, o.tuner.dtypes);
    const tune::RecordFile file = tune::read_records(records_path(o));
    complain(file.refused);
    for (const std::string &problem : tuned_problems(op, o)) {
        for (int threads : o.threads) {
            const ProblemInstance t(op, problem, dtypes);
            const Plan plan = make_plan(op, metas_of(t), t.attrs);
            if (!plan.kernel)
                throw ShapeError(op.record.name, "'" + problem + "' has nothing to compute");
            const Isa isa = o.tuner.isa.empty() ? plan.kernel->isa : isa_of(o.tuner.isa);
            const tune::Question q{op.record.name,
                                   dtypes,
                                   name_of(isa),
                                   tune::bucket_of(plan),
                                   threads,
                                   algorithms_of(op, dtypes, isa, compiler),
                                   code_of_default(plan, compiler)};
            std::printf("%s '%s' %s %s, threads: %d: bucket %s\n", q.op.c_str(), problem.c_str(),
                        dtypes.c_str(), q.isa.c_str(), threads, q.bucket.c_str());
            print_decision(file, decide(file.records, q));
        }
    }
    return 0;
}

int list_stale(const TuneOptions &o) {
    size_t records = 0, stale = 0;
    bool refused = false;
    for (auto &path : o.records.empty() ? tune::committed_files() : std::vector{o.records}) {
        const tune::RecordFile file = tune::read_records(path);
        refused |= complain(file.refused);
        const auto lines = tune::stale_lines(file);
        for (auto &line : lines)
            std::printf("%s\n", line.c_str());
        records += file.records.size();
        stale += lines.size();
    }
    std::printf("%zu records, %zu stale\n", records, stale);
    return refused || stale;
}

namespace {

using TunableValues = std::map<std::string, int>;

// The measurements of one variant: problem, threads and default -> tunables -> record.
using Measurements =
    std::map<std::tuple<std::string, int, std::string>, std::map<TunableValues, const Record *>>;

Measurements measurements_of(const std::vector<Record> &records, const tune::Question &q,
                             const std::string &variant) {
    Measurements measured;
    for (const Record &r : records) {
        if (r.op == q.op && r.dtypes == q.dtypes && r.isa == q.isa && r.variant == variant &&
            r.schedule == "own" && unusable(r, q).empty())
            measured[{r.problem, r.threads, r.against}][r.tunables] = &r;
    }
    return measured;
}

// Returns how other tunables compare with `usual`, those of the variant's default.
std::map<TunableValues, Standing> standings_of(const Measurements &measured,
                                               const TunableValues &usual) {
    std::map<TunableValues, Standing> standings;
    for (auto &[problem, candidates] : measured) {
        const auto baseline = candidates.find(usual);
        if (baseline == candidates.end()) continue;
        for (auto &[tunables, r] : candidates) {
            if (tunables == usual) continue;
            Standing &s = standings[tunables];
            const double ratio = r->ratio / baseline->second->ratio;
            s.problems++;
            s.log_sum += std::log(ratio);
            s.worst = std::max(s.worst, ratio);
            s.better |= r->high < baseline->second->low;
            s.worse |= r->low > baseline->second->high;
            s.proved |= r->is_proved();
        }
    }
    return standings;
}

// Returns the best tunables that are proved, faster on some problem and slower on none; null if
// there are none.
const TunableValues *best_of(const std::map<TunableValues, Standing> &standings, size_t problems) {
    const TunableValues *best = nullptr;
    for (auto &[tunables, s] : standings) {
        if (s.better && !s.worse && s.proved && s.problems == int(problems) &&
            (!best || s.log_sum < standings.at(*best).log_sum))
            best = &tunables;
    }
    return best;
}

// Prints a line `pick("rows", {4, 2})` for each tunable whose best value isn't the default.
void print_picks(const tune::Built &baseline, const TunableValues &best) {
    for (auto &[name, values] : baseline.offered) {
        std::vector<int> order = values;
        const auto at = std::find(order.begin(), order.end(), best.at(name));
        if (at == order.begin() || at == order.end()) continue;
        std::rotate(order.begin(), at, at + 1);
        std::printf("pick(\"%s\", {%s})  // was {%s}\n", name.c_str(), join(order).c_str(),
                    join(values).c_str());
    }
}

}  // namespace

int paste_tunables(const TuneOptions &o) {
    tune::Compiler compiler;
    const RegisteredOp &op = op_with_kernels(o.ops[0]);
    const std::string dtypes = dtype_set(op.record, o.tuner.dtypes);
    const Isa isa = o.tuner.isa.empty() ? host_isa() : isa_of(o.tuner.isa);
    const tune::RecordFile file = tune::read_records(records_path(o));
    complain(file.refused);
    tune::Question q{
        op.record.name, dtypes, name_of(isa), "", 1, algorithms_of(op, dtypes, isa, compiler)};
    bool any = false;
    for (auto &v : op.record.variants) {
        tune::Job job;
        job.op = op.record.name;
        job.dtypes = dtypes;
        job.variant = v.name;
        job.isa = isa;
        const tune::Built baseline = compiler.offers(job);
        const Measurements measured = measurements_of(file.records, q, v.name);
        const auto standings = standings_of(measured, baseline.tunables);
        const TunableValues *best = best_of(standings, measured.size());
        if (!best) continue;
        any = true;
        const Standing &s = standings.at(*best);
        std::printf("// %s, %s %s: %.3f of the default's time over %d problems, %.3f at worst\n",
                    v.name.empty() ? op.record.name.c_str() : v.name.c_str(), dtypes.c_str(),
                    q.isa.c_str(), std::exp(s.log_sum / s.problems), s.problems, s.worst);
        print_picks(baseline, *best);
    }
    if (!any) {
        std::printf("nothing to paste: no other pick is proved, faster on some problem and slower "
                    "on none, beyond doubt\n");
    }
    return 0;
}

}  // namespace halyard::command
