// ProcessPool: runs jobs in forks of this process, some at a time. A job that crashes or hangs ends
// only its own process, and its result says how.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace halyard {

struct JobResult {
    enum class Ending { returned, threw, died, timed_out };
    Ending ending = Ending::returned;
    // What the job sent, also before it died.
    std::vector<std::string> messages;
    std::string error;  // `threw`: the text of the exception
    // Unless it returned: "threw std::runtime_error: no", "died (signal 11, Segmentation fault)",
    // "died (exit 3)", "took more than 60 s", "took more than 60 s of processor time".
    std::string how;
    int signal = 0;      // that ended it; 0: none
    std::string output;  // what it printed, as far as the pool keeps that

    bool has_returned() const { return ending == Ending::returned; }
    std::string text() const;  // all messages as one
    // `how`, followed by the output of a job that died: "died (exit 3): no space left".
    std::string description() const;
    // Returns if the job returned. If it threw, throws std::runtime_error with its message. Else
    // throws DispatchError for `op`; `what` names the work: "[op] the code generator died (signal
    // 6, Aborted): LLVM ERROR".
    void require_return(const std::string &op,
                        const std::string &what = "the code generator") const;
};

class ProcessPool {
public:
    // A job that exceeds a limit is killed, together with its own children. 0: no limit.
    struct Limits {
        double seconds = 0;      // by the clock
        double cpu_seconds = 0;  // of processor time
    };
    // What becomes of jobs' standard output and standard error. keep_errors keeps the latter as
    // JobResult::output and leaves the former where this process's goes; keep_all keeps both.
    enum class Output { keep_errors, keep_all, discard };
    // Sends a message to this process.
    using Send = std::function<void(const std::string &message)>;
    using Job = std::function<void(size_t job, const Send &send)>;
    using Done = std::function<void(size_t job, const JobResult &result)>;

    // Throws AttrError if `at_once` is 0.
    explicit ProcessPool(size_t at_once) : ProcessPool(at_once, Limits{}) {}
    ProcessPool(size_t at_once, Limits limits, Output output = Output::keep_errors);

    // Runs job(i, send) for every i in [0, jobs), at most `at_once` at a time, each in a process of
    // its own, and calls done(i, result) here as they end. Call it while this process has no other
    // threads: a fork has only the thread that called it. Throws Error if no process can be
    // started, and what `done` throws; then it kills the jobs that run.
    void run(size_t jobs, const Job &job, const Done &done) const;
    // As run(), but calls `done` in the order of i.
    void run_in_order(size_t jobs, const Job &job, const Done &done) const;

private:
    size_t at_once_;
    Limits limits_;
    Output output_;
};

// Runs one job, as ProcessPool does.
JobResult run_job(const std::function<void(const ProcessPool::Send &send)> &job,
                  ProcessPool::Limits limits = {},
                  ProcessPool::Output output = ProcessPool::Output::keep_errors);

// Runs `work` in a child process for at most `seconds` (0: no limit) and returns its result. Throws
// what JobResult::require_return() throws. With AddressSanitizer and several threads, fork is not
// safe, and `work` runs in this process.
std::string run_in_child(const std::string &op, const std::function<std::string()> &work,
                         double seconds = 0, const std::string &what = "the code generator");

}  // namespace halyard
