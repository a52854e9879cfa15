#include "tools/halyard/timing.h"

#include <chrono>
#include <thread>

#include "registry/parallel.h"

namespace halyard::command {
namespace {

class Collector : public benchmark::BenchmarkReporter {
public:
    Collector(std::vector<Subject *> subjects, Runs &runs, size_t first) : subjects_(std::move(subjects)), runs_(runs), first_(first) {}
    bool ReportContext(const Context &) override { return true; }
    void ReportRuns(const std::vector<Run> &report) override {
        for (const Run &r : report) {
            subjects_[next_]->seconds.push_back(r.real_accumulated_time / (double)r.iterations);
            runs_[first_ + next_].push_back(r);
        }
        next_ = (next_ + 1) % subjects_.size();
    }

private:
    std::vector<Subject *> subjects_;
    Runs &runs_;
    size_t first_, next_ = 0;
};

}  // namespace

void measure(std::deque<Subject> &subjects, const std::string &name, const Timing &timing, Runs &runs) {
    const size_t first = runs.size();
    std::vector<Subject *> timed;
    bool spinning = false;  // threads of a peer may still hold a core for a while
    for (Subject &s : subjects) {
        if (!s.verdict.breach.empty()) continue;
        timed.push_back(&s);
        const auto body = [&s, &spinning](benchmark::State &state) {
            set_threads(s.threads);
            if (spinning) std::this_thread::sleep_for(std::chrono::milliseconds(40)), spinning = false;
            for (auto _ : state) s.run();
            spinning = s.peer && s.threads > 1;
        };
        benchmark::RegisterBenchmark((name + "/" + s.label + "/threads:" + std::to_string(s.threads)).c_str(), body)->MinTime(timing.min_time)->UseRealTime();
    }
    runs.resize(first + timed.size());
    Collector collector(timed, runs, first);
    for (int round = 0; round < timing.rounds && !timed.empty(); round++) benchmark::RunSpecifiedBenchmarks(&collector, ".");
    benchmark::ClearRegisteredBenchmarks();
    for (size_t i = first; i < runs.size(); i++)
        for (size_t r = 0; r < runs[i].size(); r++) runs[i][r].repetitions = (int64_t)runs[i].size(), runs[i][r].repetition_index = (int64_t)r;
}

}  // namespace halyard::command
