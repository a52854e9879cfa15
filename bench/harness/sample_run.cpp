#include "bench/harness/sample_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>

#include "bench/harness/case_list.h"
#include "bench/harness/comparison.h"
#include "bench/harness/machine.h"
#include "bench/harness/op_call.h"
#include "bench/harness/table.h"
#include "primitives/library.h"
#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/text.h"

namespace halyard::bench {

const SampleOutcome::Other *SampleOutcome::fastest_peer() const {
    const Other *best = nullptr;
    for (const Other &peer : peers)
        if (peer.computes && (!best || peer.ratio < best->ratio)) best = &peer;
    return best;
}

SampleOutcome outcome_of_cases(const DrawnProblem &drawn, const std::deque<BenchmarkCase> &cases,
                               int threads) {
    SampleOutcome o;
    o.drawn = drawn;
    o.threads = threads;
    const BenchmarkCase *chosen = dispatched_of(cases, threads);
    if (!chosen) {
        o.failure = "the chosen kernel has no time";
        for (const BenchmarkCase &s : cases)
            if (s.dispatched && !s.accuracy.violation.empty())
                o.failure = s.label + " breaks its contract: " + s.accuracy.violation;
        return o;
    }
    o.chosen = chosen->label;
    o.seconds = median(chosen->seconds);
    for (const BenchmarkCase &s : cases) {
        if (s.threads != threads || &s == chosen) continue;
        if (!s.peer && !s.accuracy.violation.empty())
            o.failure = s.label + " breaks its contract: " + s.accuracy.violation;
        // A kernel that was too slow to be timed in rounds has the time of its first call.
        const double once = s.first_seconds / chosen->first_seconds;
        const double ratio = s.relative ? s.relative->ratio : once;
        if (ratio <= 0) continue;
        (s.peer ? o.peers : o.variants).push_back({s.label, ratio, s.computes});
        const bool faster = s.relative && s.relative->answer == Comparison::faster;
        if (!s.peer && faster && 1 / ratio > o.regret) {
            o.regret = 1 / ratio;
            o.best = s.label;
        }
    }
    return o;
}

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const double rank = std::ceil(share * double(values.size()));
    return values[size_t(std::clamp(rank, 1.0, double(values.size()))) - 1];
}

namespace {

// The values of each kind and number of threads, in the order of the kinds.
template<class Value>
void for_each_kind(const std::vector<SampleOutcome> &all,
                   const std::function<void(const std::string &, int, const Value &)> &visit,
                   const std::function<void(const SampleOutcome &, Value &)> &add) {
    std::map<int, std::map<std::string, Value>> values;
    for (const SampleOutcome &o : all)
        if (o.failure.empty()) add(o, values[o.threads][o.drawn.kind]);
    for (auto &[threads, of_kinds] : values) {
        for (auto &kind : ProblemSampler::kinds()) {
            const auto found = of_kinds.find(kind);
            if (found != of_kinds.end()) visit(kind, threads, found->second);
        }
    }
}

using Values = std::vector<double>;
using ByPeer = std::map<std::string, Values>;

double share_below(const Values &values, double limit) {
    const auto below = std::count_if(values.begin(), values.end(),
                                     [&](double v) { return v < limit; });
    return double(below) / double(values.size());
}

std::string ratio_row(const std::string &kind, int threads, const std::string &peer,
                      const Values &v) {
    return "| " + kind + " | " + std::to_string(threads) + " | " + peer + " | " +
           std::to_string(v.size()) + " | " + text_of("%.2f", quantile(v, 0.05)) + " | " +
           text_of("%.2f", quantile(v, 0.5)) + " | " + text_of("%.2f", quantile(v, 0.95)) + " | " +
           text_of("%.0f %%", 100 * share_below(v, 1)) + " |\n";
}

std::string ratio_table(const std::vector<SampleOutcome> &all) {
    std::string text = "| kind | threads | peer | problems | 5 % | median | 95 % | below 1 |\n"
                       "|---|---|---|---|---|---|---|---|\n";
    std::map<int, Values> fastest;
    const auto add = [&](const SampleOutcome &o, ByPeer &peers) {
        for (auto &peer : o.peers)
            peers[peer.label].push_back(peer.ratio);
        if (const auto *best = o.fastest_peer()) {
            peers["*fastest*"].push_back(best->ratio);
            fastest[o.threads].push_back(best->ratio);
        }
    };
    for_each_kind<ByPeer>(
        all,
        [&](const std::string &kind, int threads, const ByPeer &peers) {
            for (auto &[peer, values] : peers)
                if (peer != "*fastest*" || peers.size() > 2)
                    text += ratio_row(kind, threads, peer, values);
        },
        add);
    for (auto &[threads, values] : fastest)
        text += ratio_row("**all**", threads, "*fastest*", values);
    return text;
}

std::string regret_row(const std::string &kind, int threads, const Values &v) {
    return "| " + kind + " | " + std::to_string(threads) + " | " + std::to_string(v.size()) +
           " | " + text_of("%.2f", quantile(v, 0.5)) + " | " + text_of("%.2f", quantile(v, 0.95)) +
           " | " + text_of("%.2f", quantile(v, 1)) + " | " +
           text_of("%.0f %%", 100 * (1 - share_below(v, 1.1))) + " |\n";
}

std::string regret_table(const std::vector<SampleOutcome> &all) {
    std::string text = "| kind | threads | problems | median | 95 % | worst | 1.1 or more |\n"
                       "|---|---|---|---|---|---|---|\n";
    std::map<int, Values> together;
    for_each_kind<Values>(
        all,
        [&](const std::string &kind, int threads, const Values &regrets) {
            if (!regrets.empty()) text += regret_row(kind, threads, regrets);
        },
        [&](const SampleOutcome &o, Values &regrets) {
            if (o.variants.empty()) return;
            regrets.push_back(o.regret);
            together[o.threads].push_back(o.regret);
        });
    for (auto &[threads, values] : together)
        text += regret_row("**all**", threads, values);
    return text;
}

// Returns "name 0.85, other 1.2": times over the chosen kernel's.
std::string others_text(std::vector<SampleOutcome::Other> others) {
    std::sort(others.begin(), others.end(),
              [](const auto &a, const auto &b) { return a.ratio < b.ratio; });
    std::vector<std::string> texts;
    for (auto &other : others)
        texts.push_back(other.label + text_of(" %.2f", other.ratio));
    return join(texts, ", ");
}

std::string problem_row(const SampleOutcome &o, double value) {
    return "| " + text_of("%.2f", value) + " | `" + o.drawn.op + " " + o.drawn.problem + "` | " +
           o.drawn.dtypes + " | " + std::to_string(o.threads) + " | " + o.chosen + " " +
           time_text(o.seconds) + " | " + others_text(o.variants) + " | " + others_text(o.peers) +
           " | " + o.drawn.origin + (o.contended ? "; no idle core" : "") + " |\n";
}

using Score = std::function<double(const SampleOutcome &)>;  // NaN leaves an outcome out

// Returns rows of the ten outcomes with the least scores.
std::string worst_table(const std::vector<SampleOutcome> &all, const std::string &title,
                        const Score &score, const Score &shown) {
    std::vector<const SampleOutcome *> worst;
    for (const SampleOutcome &o : all)
        if (o.failure.empty() && !std::isnan(score(o))) worst.push_back(&o);
    std::stable_sort(worst.begin(), worst.end(),
                     [&](const auto *a, const auto *b) { return score(*a) < score(*b); });
    worst.resize(std::min<size_t>(worst.size(), 10));
    std::string text = "| " + title +
                       " | problem | dtypes | threads | chosen | other variants | peers | origin "
                       "|\n|---|---|---|---|---|---|---|---|\n";
    for (const SampleOutcome *o : worst)
        text += problem_row(*o, shown(*o));
    return text;
}

double ratio_to_fastest(const SampleOutcome &o) {
    const auto *peer = o.fastest_peer();
    return peer ? peer->ratio : NAN;
}

std::string failures(const std::vector<SampleOutcome> &all) {
    std::string text;
    for (const SampleOutcome &o : all) {
        if (!o.failure.empty()) {
            text += "- `" + o.drawn.op + " " + o.drawn.problem + "` " + o.drawn.dtypes + ", " +
                    std::to_string(o.threads) + " threads: " + o.failure + "\n";
        }
    }
    return text.empty() ? "" : "\n## Failures\n\n" + text;
}

}  // namespace

std::string sample_tables(const std::vector<SampleOutcome> &all) {
    std::string text =
        "## Peers\n\nThe peer's time over ours; above 1 ours is faster. *fastest* is the fastest "
        "peer of each problem; `roof` moves the same bytes and computes nothing.\n\n" +
        ratio_table(all) +
        "\n## Regrets\n\nThe chosen kernel's time over that of the best variant "
        "of its ISA that is faster with 99 % confidence; 1 if none is.\n\n" +
        regret_table(all);
    text += "\n## Slowest beside the fastest peer\n\nOthers' times are relative to the chosen "
            "kernel's.\n\n" +
            worst_table(all, "x fastest", ratio_to_fastest, ratio_to_fastest);
    const auto regret = [](const SampleOutcome &o) { return o.regret > 1 ? -o.regret : NAN; };
    text += "\n## Largest regrets\n\n" +
            worst_table(all, "regret", regret, [](const SampleOutcome &o) { return o.regret; });
    return text + failures(all);
}

namespace {

// A kernel or peer that takes this many times longer in its first call isn't timed in rounds.
constexpr double too_slow = 12;

// Replaces what is too slow for the rounds: it keeps the time of its first call.
void leave_out_slow(std::deque<BenchmarkCase> &cases, std::deque<BenchmarkCase> &slow) {
    double best = INFINITY;
    for (const BenchmarkCase &s : cases) {
        const bool counts = s.computes && s.accuracy.violation.empty() && s.first_seconds > 0;
        if (counts) best = std::min(best, s.first_seconds);
    }
    for (auto s = cases.begin(); s != cases.end();) {
        const bool timed = s->dispatched || s->first_seconds <= too_slow * best;
        if (timed) {
            ++s;
            continue;
        }
        s->run = nullptr;
        slow.push_back(std::move(*s));
        s = cases.erase(s);
    }
}

std::string repro_command(const DrawnProblem &d, const SampleOptions &o, int threads) {
    return "halyard bench " + d.op + " --shape \"" + d.problem + "\" --dtype " + d.dtypes +
           " --threads " + std::to_string(threads) + " --isa " + o.selection.isa;
}

// Times the problem for each number of threads.
void time_problem(const DrawnProblem &d, const SampleOptions &o, std::vector<SampleOutcome> &all,
                  Runs &runs) {
    const RegisteredOp &op = op_with_kernels(d.op);
    const ProblemInstance t(op, d.problem, d.dtypes);
    const std::vector<Tensor> like = outputs_of(t);
    const Expected expected(t, like);
    std::vector<std::string> labels;  // those that were not too slow with fewer threads
    for (int threads : o.selection.threads) {
        Selection selection = o.selection;
        selection.threads = {threads};
        selection.dispatched_isa = o.selection.isa == "all";
        selection.only = labels;
        std::vector<std::string> rejected;
        auto cases = kernel_cases(t, d.dtypes, selection, expected, like, rejected);
        std::deque<BenchmarkCase> slow;
        leave_out_slow(cases, slow);
        const Rounds rounds = measure(cases, o.timing);
        compare_with_dispatched(cases);
        std::string path = d.op + "/" + d.problem + "/" + d.dtypes;
        std::replace(path.begin(), path.end(), ' ', ',');
        collect(cases, path, repro_command(d, o, threads), runs);
        labels = {"chosen"};
        for (const BenchmarkCase &s : cases)
            labels.push_back(s.label);
        for (BenchmarkCase &s : slow)
            cases.push_back(std::move(s));
        all.push_back(outcome_of_cases(d, cases, threads));
        all.back().contended = !rounds.left_a_core;
    }
}

void print(const SampleOutcome &o, int64_t number, int64_t of) {
    std::printf("%3lld/%lld %-90s %-8s %d  ", (long long)number, (long long)of,
                (o.drawn.op + " " + o.drawn.problem).c_str(), o.drawn.dtypes.c_str(), o.threads);
    if (!o.failure.empty()) {
        std::printf("failed: %s\n", o.failure.c_str());
        return;
    }
    const auto *peer = o.fastest_peer();
    std::printf("%10s  %-28s %s%s\n", time_text(o.seconds).c_str(), o.chosen.c_str(),
                peer ? ("x " + peer->label + text_of(" %.2f", peer->ratio)).c_str() : "no peer",
                o.regret > 1 ? (text_of("  regret %.2f ", o.regret) + o.best).c_str() : "");
    std::fflush(stdout);
}

std::string summary_of(const SampleOptions &o, const std::vector<SampleOutcome> &all,
                       double seconds) {
    int64_t layers = 0, contended = 0;
    for (const SampleOutcome &outcome : all) {
        layers += outcome.drawn.is_layer;
        contended += outcome.contended;
    }
    const auto percent = [&](int64_t n) {
        return text_of("%.0f %%", 100 * double(n) / double(std::max<size_t>(1, all.size())));
    };
    return std::to_string(o.problems) + " problems of seed " + std::to_string(o.request.seed) +
           ", each with " + join(o.selection.threads, " and ") + " threads; " + percent(layers) +
           " are layers of networks, the others random ones around them. At most " +
           text_of("%g MB", o.request.limits.bytes * 1e-6) + " and " +
           text_of("%g million operations", o.request.limits.operations * 1e-6) + " a call. " +
           std::to_string(o.timing.rounds) + " interleaved rounds of " +
           text_of("%g ms", o.timing.min_time * 1e3) + ", " + text_of("%.0f s", seconds) +
           " in all. Other processes left no core idle in " + percent(contended) +
           " of the measurements.\n";
}

void list(const SampleOptions &o, ProblemSampler &sampler) {
    for (int64_t i = 0; i < o.problems; i++) {
        const DrawnProblem d = sampler.draw();
        std::printf("%s %s  # %s; %s\n", d.op.c_str(), d.problem.c_str(), d.dtypes.c_str(),
                    d.origin.c_str());
    }
}

}  // namespace

bool run_sample(const SampleOptions &o) {
    ProblemSampler sampler(all_networks(), o.request);
    if (o.list) {
        list(o, sampler);
        return true;
    }
    std::vector<SampleOutcome> all;
    Runs runs;
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 1; i <= o.problems; i++) {
        const DrawnProblem d = sampler.draw();
        const size_t before = all.size();
        try {
            time_problem(d, o, all, runs);
        } catch (const Error &e) {
            all.push_back({});
            all.back().drawn = d;
            all.back().failure = e.what();
        }
        for (size_t k = before; k < all.size(); k++)
            print(all[k], i, o.problems);
        if (!o.json.empty()) save_json(o.json, runs);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const std::string text = summary_of(o, all, seconds.count()) + "\n" + sample_tables(all);
    std::printf("\n%s\n", text.c_str());
    if (!o.out.empty()) {
        write_file(o.out,
                   "# Sample " + std::to_string(o.request.seed) + ": " + processor() + "\n\n" +
                       now().substr(0, 10) + ". " + text,
                   Durability::to_system);
    }
    return std::none_of(all.begin(), all.end(),
                        [](const SampleOutcome &outcome) { return !outcome.failure.empty(); });
}

}  // namespace halyard::bench
