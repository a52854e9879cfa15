// What was measured, as Google Benchmark writes it: its compare.py reads two such files.
#pragma once
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace halyard::command {

// One vector per subject, a run per round.
using Runs = std::vector<std::vector<benchmark::BenchmarkReporter::Run>>;

void save_json(const std::string &path, const Runs &runs);  // throws IoError

}  // namespace halyard::command
