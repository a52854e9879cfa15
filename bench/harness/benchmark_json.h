// What was measured, as Google Benchmark writes it: its compare.py reads two such files.
#pragma once
#include <benchmark/benchmark.h>

#include <deque>
#include <string>
#include <vector>

#include "bench/harness/benchmark_case.h"

namespace halyard::bench {

// One vector per subject, a run per round.
using Runs = std::vector<std::vector<benchmark::BenchmarkReporter::Run>>;

// The runs of timed subjects, called OP/PROBLEM/DTYPES/LABEL/threads:N. `repro_command` is the
// command that measures them again. One that broke its contract gets a run with the error in place
// of times. docs/command.md lists the counters.
void collect(const std::deque<BenchmarkCase> &cases, const std::string &name,
             const std::string &repro_command, Runs &runs);

// What the file says about the machine and this run, beside what Google Benchmark finds out itself.
// Before anything is timed.
void add_context();

// Throws IoError.
void save_json(const std::string &path, const Runs &runs);

}  // namespace halyard::bench
