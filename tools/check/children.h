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
    // How it ended, unless the job returned: "signal 11", "exit 1", "threw [op] ...", "exceeded its
    // 60 s of processor time", "still running after 600 s".
    std::string died;
    bool timed_out = false;  // one of the last two
};

// Sends one line to this process. The line has no '\0'.
using Send = std::function<void(const std::string &line)>;
using JobBody = std::function<void(size_t job, const Send &)>;

// Runs body(job, send) for every job in [0, jobs) in forks of this process, `at_once` at a time,
// and calls done(job, result) here as they end. This process must have no other threads, because a
// fork has only the thread that called it: so it must not have used its thread pool yet. A child
// that takes more than `cpu_seconds` of processor time, or ten times as long by the clock, is
// killed together with its own children. What jobs print is lost. Throws Error if no process can be
// created, AttrError if at_once is less than 1, and what `done` throws; then it kills the running
// children.
void run_in_children(size_t jobs, int at_once, double cpu_seconds, const JobBody &body,
                     const std::function<void(size_t job, const ChildResult &)> &done);

}  // namespace halyard::check
