// Writes measurements in the format of Google Benchmark, whose compare.py reads two such files.
#pragma once
#include <benchmark/benchmark.h>

#include <deque>
#include <string>
#include <vector>

#include "bench/harness/benchmark_case.h"

namespace halyard::bench {

// One vector for each benchmark case, one run for each round.
using Runs = std::vector<std::vector<benchmark::BenchmarkReporter::Run>>;

// Appends the runs of timed cases, named OP/PROBLEM/DTYPES/LABEL/threads:N. `repro_command` is the
// command that repeats the measurement. A case that violates its contract has one run with the
// error in place of a time. docs/command.md lists the counters.
void collect(const std::deque<BenchmarkCase> &cases, const std::string &name,
             const std::string &repro_command, Runs &runs);

// Adds the command, the CPU and the load of its cores to the file's context. Call it before
// anything is timed.
void add_context();

// Throws IoError.
void save_json(const std::string &path, const Runs &runs);

}  // namespace halyard::bench
