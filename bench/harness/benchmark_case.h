// BenchmarkCase: one thing that `halyard bench` times with a number of threads: a kernel of the op,
// the whole call, or a peer.
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
    std::function<void()> run;  // one call, which fills `out`
    // If set, replaces `run`: makes calls for that long and returns the seconds per call.
    std::function<double(double seconds)> time_itself = {};
    bool has_control = false;  // timed twice in each round
    double first_seconds = 0;  // of the call whose accuracy was judged; 0 if it wasn't called
    Expected::Accuracy accuracy = {};
    // A peer's result outside our contract, but close enough to be the same function. The peer
    // keeps its time.
    std::string imprecise = {};
    // Seconds per call, one for each round: of the case, and of its control run.
    std::vector<double> seconds = {}, control_seconds = {};
    // Against the dispatched kernel with as many threads, or against the second case of --compare.
    std::optional<Comparison> relative = {};
    Isa isa = Isa::baseline;  // the level it may use
    // "opencl" or "cuda" for the kernel of a GPU, whose roofs aren't known; "" for all others.
    std::string device = {};
    std::map<std::string, double> counters = {};  // further numbers for the JSON file
    std::vector<benchmark::BenchmarkReporter::Run> runs = {};
};

struct Selection {
    std::string isa = "all", variant;  // "all", or one level
    bool dispatched_isa = false;       // only kernels of the ISA that the dispatched one has
    std::vector<int> threads;
    // Also kernels with other values of the schedule's tunables, compiled by the JIT.
    bool tunables = false;
    // Only cases with these labels; "chosen" is the dispatched kernel; empty selects all.
    std::vector<std::string> only;
    std::vector<std::string> frameworks;  // peers in Python
    std::string python = "python3";
    // Calls cycle through copies of the tensors that together are four times as large as the
    // last-level cache.
    bool cold = false;
    std::string device = {};  // "opencl" or "cuda": also the kernels of that GPU
};

}  // namespace halyard::bench
