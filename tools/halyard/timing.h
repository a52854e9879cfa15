// Timing subjects in interleaved rounds, on Google Benchmark.
#pragma once
#include <deque>

#include "tools/halyard/runs.h"
#include "tools/halyard/subject.h"

namespace halyard::command {

struct Timing {
    int rounds = 7;
    double min_time = 0.02;  // seconds of each subject in each round
};

// Every round times each subject once, in order: A B C A B C. Subjects that broke their contract get no time. `name` stands before
// the labels in `runs`, to which each subject adds its own.
void measure(std::deque<Subject> &subjects, const std::string &name, const Timing &timing, Runs &runs);

}  // namespace halyard::command
