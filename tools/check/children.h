// Jobs in child processes, which may crash and hang without harm.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace halyard::check {

struct ChildResult {
    std::string text;  // all that the job had said
    std::string died;  // "signal 11", "exit 1", "no end after 60 s"; "" = it returned
};

// job(i, say) for every i below `jobs`, `at_once` at a time, in forks of this process, which must
// not have used its thread pool yet; done(i, result) is called here as they end. A child that takes
// more than `seconds` of processor time, or ten times as long by the clock, is killed, with its own
// children. What jobs print is lost. Throws Error when no process can be made.
using Say = std::function<void(const std::string &line)>;
void in_children(size_t jobs, int at_once, double seconds,
                 const std::function<void(size_t, const Say &)> &job,
                 const std::function<void(size_t, const ChildResult &)> &done);

}  // namespace halyard::check
