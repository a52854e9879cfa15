// Workers: child processes that share out a list of jobs. What a job aborts is its own process.
#pragma once
#include <functional>
#include <string>

namespace halyard::check {

// body(i) for i in [0, jobs) runs in a child process each, at most `at_once` of them at a time, and
// its text reaches done(i, text) here, in the order of i. A child that died, or threw, reaches
// died(i, how) in place of it. Call it before this process has threads: a child has only the one
// that forked it.
void in_workers(size_t jobs, size_t at_once, const std::function<std::string(size_t)> &body,
                const std::function<void(size_t, const std::string &)> &done,
                const std::function<void(size_t, const std::string &)> &died);

}  // namespace halyard::check
