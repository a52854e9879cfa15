// Runs jobs in child processes, which may crash and hang without harm. Lines arrive while a job
// runs, jobs have a time limit, and what they print is discarded: it is for mutants, which are
// expected to fail. worker_pool.h is for jobs that are expected to succeed.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace halyard::check {

struct ChildResult {
    std::string text;  // all lines that the job sent
    std::string died;  // "signal 11", "exit 1", "no end after 60 s"; "" if it returned
};

// Runs job(i, send) for every i below `jobs` in forks of this process, `at_once` at a time, and
// calls done(i, result) here as they end. This process must not have used its thread pool yet. A
// child that takes more than `seconds` of processor time, or ten times as long by the clock, is
// killed together with its own children. What jobs print is lost. Throws Error if no process can be
// created.
using Send = std::function<void(const std::string &line)>;
void run_in_children(size_t jobs, int at_once, double seconds,
                     const std::function<void(size_t, const Send &)> &job,
                     const std::function<void(size_t, const ChildResult &)> &done);

}  // namespace halyard::check
