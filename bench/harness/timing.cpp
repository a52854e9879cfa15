#include "bench/harness/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "bench/harness/progress.h"
#include "bench/harness/system_load.h"
#include "registry/base/parallel.h"

namespace halyard::bench {
namespace {

using TimedRun = benchmark::BenchmarkReporter::Run;

class Collector : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context &) override { return true; }
    void ReportRuns(const std::vector<TimedRun> &report) override {
        runs.insert(runs.end(), report.begin(), report.end());
    }
    std::vector<TimedRun> runs;
};

double per_call(const TimedRun &r) {
    return r.real_accumulated_time / double(r.iterations);
}

// A slot in each round: a case, or its control run.
struct Place {
    BenchmarkCase *bench_case;
    bool control;
    int64_t calls = 0;  // that fill min_time; 0 is not known yet
};

class Clock {
public:
    explicit Clock(double min_time) : min_time_(min_time) {}

    // Runs each slot once, in this order.
    std::vector<TimedRun> round(const std::vector<Place *> &order) {
        for (const Place *p : order) {
            auto *bench = benchmark::RegisterBenchmark(
                p->bench_case->label.c_str(),
                [this, p](benchmark::State &state) { time(state, *p); });
            if (p->bench_case->time_itself)
                bench->Iterations(1)->UseManualTime();
            else if (p->calls)
                bench->Iterations(p->calls)->UseRealTime();
            else
                bench->MinTime(min_time_)->UseRealTime();
        }
        switches = 0;
        Collector collector;
        benchmark::RunSpecifiedBenchmarks(&collector, ".");
        benchmark::ClearRegisteredBenchmarks();
        return collector.runs;
    }

    long switches = 0;  // in the last round, while a kernel or a peer of this process ran

private:
    void time(benchmark::State &state, const Place &p) {
        const BenchmarkCase &s = *p.bench_case;
        check::begin_step("timing " + s.label);
        set_threads(s.threads);
        if (spinning_) std::this_thread::sleep_for(std::chrono::milliseconds(40));
        spinning_ = s.peer && s.threads > 1;
        if (s.time_itself) {
            for (auto _ : state)
                state.SetIterationTime(s.time_itself(min_time_));
            return;
        }
        // Warms caches and branch predictors after another case.
        if (p.calls > 3) s.run();
        const long before = involuntary_switches();
        for (auto _ : state)
            s.run();
        switches += involuntary_switches() - before;
    }
    double min_time_;
    bool spinning_ = false;  // threads of a peer may still occupy a core for a while
};

void add(Rounds &sum, const Load &load) {
    sum.switches += load.switches;
    sum.seconds += load.seconds;
    sum.pressure += load.pressure * load.seconds;
    for (auto &core : load.cores)
        sum.steal = std::max(sum.steal, core.steal);
}

}  // namespace

Rounds measure(std::deque<BenchmarkCase> &cases, const Timing &timing) {
    std::deque<Place> places;
    std::vector<Place *> order;
    for (BenchmarkCase &s : cases) {
        if (!s.accuracy.violation.empty()) continue;
        places.push_back({&s, false});
        if (s.has_control) places.push_back({&s, true});
    }
    for (Place &p : places)
        order.push_back(&p);
    Rounds done;
    if (order.empty()) return done;

    const bool is_single_process = std::none_of(
        cases.begin(), cases.end(), [](const BenchmarkCase &s) { return bool(s.time_itself); });
    double cores_of_others = 0;  // times seconds
    size_t cores = 0;
    Clock clock(timing.min_time);
    std::mt19937 random(1);
    const auto first = clock.round(order);
    for (size_t i = 0; i < order.size(); i++)
        order[i]->calls = std::max<int64_t>(1, std::llround(timing.min_time / per_call(first[i])));
    while (done.kept < timing.rounds) {
        std::shuffle(order.begin(), order.end(), random);
        const Counters before = count();
        const auto taken = clock.round(order);
        Load load = between(before, count());
        load.switches = clock.switches;
        add(done, load);
        cores_of_others += load.others * load.seconds;
        cores = load.cores.size();
        const bool bad = is_noisy(load);
        if (bad && done.repeated < timing.rounds / 2) {
            done.repeated++;
            continue;
        }
        done.kept++;
        done.noisy += bad;
        for (size_t i = 0; i < order.size(); i++) {
            BenchmarkCase &s = *order[i]->bench_case;
            (order[i]->control ? s.control_seconds : s.seconds).push_back(per_call(taken[i]));
            if (order[i]->control) continue;
            s.runs.push_back(taken[i]);
            s.runs.back().counters["switches"] = double(load.switches);
        }
    }
    done.pressure /= done.seconds;
    Load all;
    all.cores.resize(cores);
    all.others = cores_of_others / done.seconds;
    done.left_a_core = !is_single_process || leaves_a_core(all);
    return done;
}

}  // namespace halyard::bench
