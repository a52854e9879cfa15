// Timing subjects in interleaved rounds on Google Benchmark, and what is shown of it.
#pragma once
#include <benchmark/benchmark.h>

#include <deque>

#include "tools/halyard/subject.h"

namespace halyard::command {

struct Timing {
    int rounds = 7;
    double min_time = 0.02;  // seconds of each subject in each round
};

// Runs of Google Benchmark, one vector per subject, for its JSON.
using Runs = std::vector<std::vector<benchmark::BenchmarkReporter::Run>>;

// Every round times each subject once, in order: A B C A B C. Subjects that broke their contract get no time. `name` stands before
// the labels in `runs`, to which each subject adds its own.
void measure(std::deque<Subject> &subjects, const std::string &name, const Timing &timing, Runs &runs);

// Bytes that a call has to move at least, and its operations.
struct Work {
    double flops = 0, bytes = 0;
};
void print_table(const std::deque<Subject> &subjects, const Work &work, const Expected &expected);

// The CPU's name, its cores and, when others use them, a warning.
void print_machine();

void save_json(const std::string &path, const Runs &runs);  // throws IoError

}  // namespace halyard::command
