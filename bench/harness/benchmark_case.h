// BenchmarkCase: one thing that is timed: a kernel of the op, or a peer, with a number of threads.
#pragma once
#include <benchmark/benchmark.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "bench/harness/expected.h"
#include "bench/harness/problem_instance.h"
#include "bench/harness/statistics.h"
#include "registry/dispatch/plan.h"

namespace halyard::bench {

struct BenchmarkCase {
    std::string label;  // "packed/avx512", "OpenBLAS 0.3.21"
    int threads = 1;
    bool peer = false, computes = true;
    bool dispatched = false;  // a call without limits takes this kernel
    std::vector<Tensor> out;
    std::function<void()> run;  // fills out
    // times itself, in calls that fill so long: seconds per call
    std::function<double(double seconds)> time_itself = {};
    bool has_control = false;  // timed twice in each round
    Expected::Accuracy accuracy = {};
    // a peer's breach that doesn't make it another function: it keeps its time
    std::string imprecise = {};
    // per call, one of each round; again: of the control
    std::vector<double> seconds = {}, control_seconds = {};
    // the chosen kernel with as many threads, or the second one of --compare
    std::optional<Comparison> relative = {};
    Isa isa = Isa::baseline;                      // that it may use
    std::map<std::string, double> counters = {};  // beside its times in the JSON file
    std::vector<benchmark::BenchmarkReporter::Run> runs = {};
};

struct Selection {
    std::string isa = "all", variant;  // "all", or one level
    std::vector<int> threads;
    // kernels with other values of the schedule's free choices too, from the JIT
    bool tunables = false;
    // only these labels; "chosen" = the dispatched kernel; empty = all
    std::vector<std::string> only;
    std::vector<std::string> frameworks;  // peers in Python
    std::string python = "python3";
    // calls go round copies of the tensors that together are four times as large as the last cache
    bool cold = false;
};

// The kernels that take the trial's tensors, best first, then the peers, for each number of
// threads. Every one has run once and was judged. What was refused is left in `refused`, a line
// each.
std::deque<BenchmarkCase> kernel_cases(const ProblemInstance &t, const std::string &dtypes,
                                       const Selection &s, const Expected &expected,
                                       const std::vector<Tensor> &like,
                                       std::vector<std::string> &refused);

// The op called whole, as a program calls it: planned, its results allocated, composed where it has
// no kernel. Labelled "call"; then the peers, for each number of threads.
std::deque<BenchmarkCase> call_cases(const ProblemInstance &t, const Selection &s,
                                     const Expected &expected, const std::vector<Tensor> &like,
                                     std::vector<std::string> &refused);

std::vector<OperandMeta> metas_of(const ProblemInstance &t);

// Outputs for the trial's call, of any values. Throws what the op's shape and dtype rules throw.
std::vector<Tensor> outputs_of(const ProblemInstance &t);

}  // namespace halyard::bench
