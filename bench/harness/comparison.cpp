#include "bench/harness/comparison.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/harness/table.h"
#include "registry/base/error.h"

namespace halyard::bench {
namespace {

double seconds_of(const std::function<void()> &run) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Keeps a core busy for `steps` additions that depend on each other.
void work(int64_t steps) {
    volatile double sum = 0;
    for (int64_t i = 0; i < steps; i++)
        sum = sum + 1;
}

// Returns the least time of many calls, which other processes disturb least.
double fastest(const std::function<void()> &run) {
    double best = INFINITY;
    for (double all = 0; all < 0.1;) {
        const double s = seconds_of(run);
        best = std::min(best, s);
        all += s;
    }
    return best;
}

BenchmarkCase slowed(BenchmarkCase s, double share) {
    constexpr int64_t steps = 10000;
    const double of_kernel = fastest(s.run);
    const double of_step = fastest([] { work(steps); }) / double(steps);
    const int64_t extra = std::llround(share * of_kernel / of_step);
    s.run = [run = s.run, extra] {
        run();
        work(extra);
    };
    return s;
}

std::string factor_text(double f) {
    return text_of(std::fabs(f - 1) < 0.0995 ? "%.3f" : "%.2f", f);
}

}  // namespace

const BenchmarkCase *dispatched_of(const std::deque<BenchmarkCase> &cases, int threads) {
    for (const BenchmarkCase &s : cases)
        if (s.dispatched && s.threads == threads && !s.seconds.empty()) return &s;
    return nullptr;
}

void compare_with_dispatched(std::deque<BenchmarkCase> &cases) {
    for (BenchmarkCase &s : cases) {
        const BenchmarkCase *dispatched = dispatched_of(cases, s.threads);
        if (dispatched && !s.seconds.empty()) {
            s.relative = compare(s.dispatched ? dispatched->control_seconds : s.seconds,
                                 dispatched->seconds, dispatched->control_seconds);
        }
    }
}

std::string text_of(const Comparison &c) {
    if (!std::isfinite(c.high)) return "cannot tell (too few rounds)";
    if (!c.no_answer.empty()) return "cannot tell: " + c.no_answer;
    const bool faster = c.answer == Comparison::faster;
    const std::string interval = " (" + factor_text(faster ? 1 / c.high : c.low) + ".." +
                                 factor_text(faster ? 1 / c.low : c.high) + ")";
    if (c.answer == Comparison::cannot_tell) return "cannot tell" + interval;
    return (faster ? "faster by " : "slower by ") + factor_text(faster ? 1 / c.ratio : c.ratio) +
           interval;
}

std::string noise_text(const Comparison &c) {
    return std::isfinite(c.noise) ? text_of("noise %.1f %%", c.noise * 100) : "noise unknown";
}

std::vector<std::string> regret_lines(const std::deque<BenchmarkCase> &cases) {
    std::vector<std::string> lines;
    for (const BenchmarkCase &dispatched : cases) {
        if (!dispatched.dispatched || dispatched.seconds.empty()) continue;
        const BenchmarkCase *best = nullptr;
        for (const BenchmarkCase &s : cases) {
            if (!s.peer && s.device.empty() && s.threads == dispatched.threads && s.relative &&
                s.relative->answer == Comparison::faster &&
                (!best || s.relative->ratio < best->relative->ratio))
                best = &s;
        }
        if (best) {
            lines.push_back("regret: with threads: " + std::to_string(dispatched.threads) + ", " +
                            best->label + " is " + text_of(*best->relative) + " than " +
                            dispatched.label + ", which a call takes");
        }
    }
    return lines;
}

std::pair<std::string, double> planted_slowdown(const std::string &op, const std::string &label) {
    const size_t plus = label.rfind('+');
    if (plus == std::string::npos || label.back() != '%') return {label, 0};
    const std::string share = label.substr(plus + 1, label.size() - plus - 2);
    size_t used = 0;
    double value = 0;
    try {
        value = std::stod(share, &used);
    } catch (const std::exception &) {
    }
    if (used == 0 || used != share.size() || !(value > 0))
        throw AttrError(op, "'" + label + "' ends in no share such as +5%");
    return {label.substr(0, plus), value / 100};
}

namespace {

std::vector<int> thread_counts(const std::deque<BenchmarkCase> &cases) {
    std::vector<int> counts;  // each number once
    for (const BenchmarkCase &s : cases) {
        if (std::find(counts.begin(), counts.end(), s.threads) == counts.end())
            counts.push_back(s.threads);
    }
    return counts;
}

// Returns the last case with this label and number of threads. Throws DispatchError if there is
// none and if it violates its contract.
const BenchmarkCase &case_called(const std::string &op, const std::deque<BenchmarkCase> &cases,
                                 const std::string &label, int threads) {
    const BenchmarkCase *found = nullptr;
    for (const BenchmarkCase &s : cases) {
        if (s.threads == threads && (s.label == label || (label == "chosen" && s.dispatched)))
            found = &s;
    }
    if (!found) throw DispatchError(op, "nothing to time is called '" + label + "' here");
    if (!found->accuracy.violation.empty() && !found->peer)
        throw DispatchError(op, label + " breaks its contract: " + found->accuracy.violation);
    return *found;
}

}  // namespace

std::deque<BenchmarkCase> ab_cases(const std::string &op, const std::deque<BenchmarkCase> &cases,
                                   const std::vector<std::string> &labels) {
    std::deque<BenchmarkCase> pairs;
    for (int threads : thread_counts(cases)) {
        for (auto &typed : labels) {
            const auto [label, share] = planted_slowdown(op, typed);
            const BenchmarkCase &found = case_called(op, cases, label, threads);
            if (share > 0 && found.time_itself)
                throw DispatchError(op, label + " times itself, so that it can't be slowed down");
            pairs.push_back(share > 0 ? slowed(found, share) : found);
            pairs.back().label += typed.substr(label.size());
            pairs.back().has_control = pairs.size() % 2 == 0;
        }
    }
    return pairs;
}

void withdraw_answers(std::deque<BenchmarkCase> &cases, const std::string &why) {
    for (BenchmarkCase &s : cases)
        if (s.relative) s.relative->withdraw(why);
}

void compare_pairs(std::deque<BenchmarkCase> &pairs) {
    for (size_t i = 0; i + 1 < pairs.size(); i += 2)
        pairs[i].relative = compare(pairs[i].seconds, pairs[i + 1].seconds,
                                    pairs[i + 1].control_seconds);
}

}  // namespace halyard::bench
