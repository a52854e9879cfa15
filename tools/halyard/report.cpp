#include "tools/halyard/report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "registry/error.h"
#include "registry/parallel.h"

namespace halyard::command {
namespace {

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}
double least(const std::vector<double> &v) { return *std::min_element(v.begin(), v.end()); }

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

std::string time_text(double s) {
    char text[32];
    const char *unit = s < 1e-6 ? "ns" : s < 1e-3 ? "us" : "ms";
    std::snprintf(text, sizeof text, "%.*f %s", s < 1e-6 ? 0 : 2, s * (s < 1e-6 ? 1e9 : s < 1e-3 ? 1e6 : 1e3), unit);
    return text;
}

std::string processor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
    return "unknown processor";
}

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

void print_table(const std::deque<Subject> &subjects, const Work &work, const Expected &expected) {
    std::vector<std::string> peers;  // in order, each once
    size_t width = 8;
    for (const Subject &s : subjects) {
        width = std::max(width, s.label.size() + 2);
        if (s.peer && !s.seconds.empty() && std::find(peers.begin(), peers.end(), s.label) == peers.end()) peers.push_back(s.label);
    }
    std::printf("  %-*s %7s %11s %11s %9s %8s %10s", (int)width, "kernel", "threads", "median", "min", "GFLOP/s", "GB/s", "error");
    for (auto &p : peers) std::printf("  x %s", p.c_str());
    std::printf("\n");
    for (const Subject &s : subjects) {
        std::printf("%s %-*s %7d ", s.dispatched ? "*" : " ", (int)width, s.label.c_str(), s.threads);
        if (!s.verdict.breach.empty()) {
            std::printf("  FAIL, no time: %s\n", s.verdict.breach.c_str());
            continue;
        }
        const double fastest = least(s.seconds);
        std::printf("%11s %11s ", time_text(median(s.seconds)).c_str(), time_text(fastest).c_str());
        if (work.flops > 0 && s.computes) std::printf("%9.1f ", work.flops / fastest * 1e-9);
        else std::printf("%9s ", "-");
        std::printf("%8.1f ", work.bytes / fastest * 1e-9);
        if (s.computes && expected.known()) std::printf("%10.2g", s.verdict.error);
        else std::printf("%10s", "-");
        for (auto &p : peers) {
            const Subject *other = nullptr;
            for (const Subject &o : subjects)
                if (o.peer && o.label == p && o.threads == s.threads && !o.seconds.empty()) other = &o;
            if (other && !s.peer) std::printf("  %*.2f (%.2f)", (int)p.size() - 5, least(other->seconds) / fastest, median(other->seconds) / median(s.seconds));
        }
        std::printf("\n");
    }
}

void print_machine() {
    double load[1] = {0};
    const unsigned cores = std::thread::hardware_concurrency();
    std::printf("%s, %u cores, up to %s\n", processor().c_str(), cores, name_of(host_isa()));
    if (getloadavg(load, 1) == 1 && load[0] > 0.3)
        std::printf("warning: the load average is %.2f; others use this machine, trust ratios and minima rather than times\n", load[0]);
}

void save_json(const std::string &path, const Runs &runs) {
    std::ofstream file(path);
    benchmark::JSONReporter json;
    json.SetOutputStream(&file);
    json.SetErrorStream(&file);
    json.ReportContext(benchmark::BenchmarkReporter::Context());
    for (auto &r : runs)
        if (!r.empty()) json.ReportRuns(r);
    json.Finalize();
    file.close();
    if (!file) throw IoError(path, "can't be written");
}

}  // namespace halyard::command
