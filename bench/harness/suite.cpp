#include "bench/harness/suite.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "bench/harness/case_list.h"
#include "bench/harness/machine.h"
#include "bench/harness/op_call.h"
#include "bench/harness/roofline.h"
#include "bench/harness/system_load.h"
#include "bench/harness/table.h"
#include "primitives/primitive.h"
#include "registry/base/atomic_file.h"
#include "registry/base/error.h"

namespace halyard::bench {
namespace {

// The result of one problem with one number of threads.
struct Outcome {
    std::string problem, peer, missing;  // peer: the fastest one; missing: why there is no time
    int threads = 1;
    double seconds = 0, ratio = 0, roof = 0;  // medians of the rounds; ratio 0: no peer does it
    std::string bound;                        // what sets the roof
};

Outcome outcome_of(const BenchmarkCase &ours, const std::deque<BenchmarkCase> &all,
                   const Roofline &roofline, const std::string &problem) {
    Outcome o{problem,
              "",
              ours.accuracy.violation.empty() ? ""
                                              : "breaks its contract: " + ours.accuracy.violation,
              ours.threads,
              0,
              0,
              0,
              ""};
    if (ours.seconds.empty()) return o;
    o.seconds = median(ours.seconds);
    const roofs::Bound bound = roofline.bound(ours.isa, ours.threads);
    o.roof = bound.seconds / least(ours.seconds);
    o.bound = bound.by;
    for (const BenchmarkCase &peer : all) {
        if (!peer.peer || !peer.computes || peer.threads != ours.threads || peer.seconds.empty())
            continue;
        const double ratio = median(peer.seconds) / o.seconds;
        if (o.peer.empty() || ratio < o.ratio) {
            o.ratio = ratio;
            o.peer = peer.label;
        }
    }
    return o;
}

std::vector<Outcome> outcomes_of(const SuiteGroup &g, const ShapeLine &line,
                                 const SuiteOptions &o) {
    const std::string problem = line.op + " " + line.problem;
    try {
        const RegisteredOp &op = find_op(line.op.c_str());
        const ProblemInstance t(op, line.problem, dtype_set(op.record, g.dtype));
        const std::vector<Tensor> like = outputs_of(t);
        const Expected expected(t, like);
        const Roofline roofline(t, like);
        std::vector<std::string> rejected;
        auto cases = call_cases(t, o.selection, expected, like, rejected);
        warn_of_others(*std::max_element(o.selection.threads.begin(), o.selection.threads.end()),
                       o.wait_quiet);
        measure(cases, o.timing);
        std::vector<Outcome> all;
        for (const BenchmarkCase &s : cases)
            if (s.dispatched) all.push_back(outcome_of(s, cases, roofline, problem));
        return all;
    } catch (const Error &e) {
        return {{problem, "", e.what(), 0, 0, 0, 0, ""}};
    }
}

// Returns "87 % L2", or "-" if the roof could not be measured.
std::string roof_text(const Outcome &o) {
    return o.bound.empty() ? "-" : text_of("%.0f %% ", 100 * o.roof) + o.bound;
}

void print(const Outcome &o) {
    if (!o.missing.empty()) {
        std::printf("  %-64s missing: %s\n", o.problem.c_str(), o.missing.c_str());
        return;
    }
    std::printf("  %-64s %d  %10s  %-18s %s\n", o.problem.c_str(), o.threads,
                time_text(o.seconds).c_str(), roof_text(o).c_str(),
                o.peer.empty() ? "no peer" : (text_of("%.2f ", o.ratio) + o.peer).c_str());
    std::fflush(stdout);
}

// The results of a group with one number of threads.
struct Summary {
    int threads = 1, timed = 0, missing = 0;
    // The number of timed problems that have a share of a roof.
    int with_roof = 0;
    // `mean` and `worst` are the ratios' geometric mean and minimum, `roof` the shares' geometric
    // mean.
    double mean = 0;
    double worst = INFINITY;
    double roof = 0;
    std::string where;  // the problem with the worst ratio
};
Summary summary_of(const std::vector<Outcome> &all, int threads) {
    Summary s;
    s.threads = threads;
    int compared = 0;
    for (const Outcome &o : all) {
        s.missing += !o.missing.empty();
        if (!o.missing.empty() || o.threads != threads) continue;
        s.timed++;
        if (!o.bound.empty()) {
            s.with_roof++;
            s.roof += std::log(std::max(o.roof, 1e-9));
        }
        if (o.peer.empty()) continue;
        compared++;
        s.mean += std::log(o.ratio);
        if (o.ratio < s.worst) {
            s.worst = o.ratio;
            s.where = o.problem;
        }
    }
    s.mean = compared ? std::exp(s.mean / compared) : 0;
    s.roof = s.with_roof ? std::exp(s.roof / s.with_roof) : 0;
    return s;
}

constexpr double least_ratio = 0.8;  // of any single problem

std::string goal_status(const SuiteGroup &g, const Summary &s) {
    if (!s.timed) return "not timed";
    std::vector<std::string> missed;
    if (g.ratio > 0 && s.where.empty()) return "no peer";
    if (g.ratio > 0 && s.mean < g.ratio) missed.push_back("ratio");
    if (g.ratio > 0 && s.worst < least_ratio) missed.push_back("worst");
    if (g.roof > 0 && s.with_roof < s.timed)
        missed.push_back("roof not measured");
    else if (g.roof > 0 && s.roof < g.roof)
        missed.push_back("roof");
    if (s.missing) missed.push_back(std::to_string(s.missing) + " missing");
    std::string text = missed.empty() ? "met" : "short:";
    for (auto &w : missed)
        text += " " + w;
    return text;
}

std::string table_of(const SuiteGroup &g, const std::vector<Outcome> &all) {
    std::string text =
        "### " + g.title + (g.dtype.empty() ? "" : ", " + g.dtype) +
        "\n\n| problem | threads | time | of the roof | x best peer |\n|---|---|---|---|---|\n";
    for (const Outcome &o : all) {
        text += o.missing.empty()
                    ? "| " + o.problem + " | " + std::to_string(o.threads) + " | " +
                          time_text(o.seconds) + " | " + roof_text(o) + " | " +
                          (o.peer.empty() ? "" : text_of("%.2f ", o.ratio) + o.peer) + " |\n"
                    : "| " + o.problem + " | | | | " + o.missing + " |\n";
    }
    return text + "\n";
}

std::string summary_line(const SuiteGroup &g, const Summary &s) {
    const std::string goals = (g.ratio > 0 ? text_of("%.2g x", g.ratio) : "") +
                              (g.ratio > 0 && g.roof > 0 ? ", " : "") +
                              (g.roof > 0 ? text_of("%.0f %%", 100 * g.roof) : "");
    return "| " + g.title + " | " + goals + " | " + std::to_string(s.threads) + " | " +
           (s.mean > 0 ? text_of("%.2f", s.mean) : "") + " | " +
           (s.where.empty() ? "" : text_of("%.2f ", s.worst) + s.where) + " | " +
           (s.with_roof ? text_of("%.0f %%", 100 * s.roof) : "") + " | " + goal_status(g, s) +
           " |\n";
}

const std::string head = "| group | goal | threads | x best peer | worst | of the roof | "
                         "|\n|---|---|---|---|---|---|---|\n";

void write_results(const SuiteOptions &o, const std::string &summaries, const std::string &tables) {
    std::ostringstream file;
    file << "# " << o.name << ": " << processor() << "\n\n"
         << now().substr(0, 10) << ", " << o.timing.rounds
         << " interleaved rounds. Ratios: the fastest peer's time over ours, medians; above 1 ours "
            "is faster.\n"
         << "A call of ours is a whole one: planned, its results allocated.\n\n"
         << head << summaries << "\n"
         << tables;
    write_file(o.out, file.str(), Durability::to_system);
}

}  // namespace

bool run_suite(const SuiteOptions &o) {
    const auto groups = suite(o.name);
    std::string tables, summaries;
    bool kept = true;
    machine_roofs();
    for (const SuiteGroup &g : groups) {
        if (g.title.find(o.group) == std::string::npos) continue;
        std::printf("\n%s\n", g.title.c_str());
        std::vector<Outcome> all;
        for (const ShapeLine &line : g.lines) {
            for (const Outcome &outcome : outcomes_of(g, line, o)) {
                print(outcome);
                kept &= !outcome.missing.starts_with("breaks");
                all.push_back(outcome);
            }
        }
        tables += table_of(g, all);
        for (int threads : o.selection.threads)
            summaries += summary_line(g, summary_of(all, threads));
        // Written each time, because a long suite may be interrupted.
        if (!o.out.empty()) write_results(o, summaries, tables);
    }
    std::printf("\n%s%s", head.c_str(), summaries.c_str());
    return kept;
}

}  // namespace halyard::bench
