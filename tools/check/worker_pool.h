// Worker processes: children that share a list of jobs. A job that crashes ends only its own
// process, and its last output is part of the report. Results arrive in the order of the jobs.
// children.h is for jobs that are expected to fail.
#pragma once
#include <functional>
#include <string>

namespace halyard::check {

// Runs body(i) for i in [0, jobs) in child processes, at most `at_once` at a time, and passes each
// text to done(i, text) here, in the order of i. For a child that died or threw, calls died(i, how)
// instead. Call it before this process has threads: a child has only the thread that forked it.
void in_workers(size_t jobs, size_t at_once, const std::function<std::string(size_t)> &body,
                const std::function<void(size_t, const std::string &)> &done,
                const std::function<void(size_t, const std::string &)> &died);

}  // namespace halyard::check
