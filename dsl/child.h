// Child: a function that runs in a child process, so that a code generator that aborts ends only
// that process.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

namespace halyard {

class Child {
public:
    // Runs `work` in a forked process, which is killed after `seconds` (0: no limit). Throws Error
    // if no process can be started.
    explicit Child(const std::function<std::string()> &work, unsigned seconds = 0);
    ~Child();
    Child(Child &&other) noexcept;
    Child &operator=(Child &&) = delete;

    pid_t pid() const { return pid_; }

    // Returns what `work` returned, once the process has ended with `status`, as waitpid() gives
    // it. If `work` threw, throws std::runtime_error with that message. If the process died or took
    // too long, throws DispatchError for `op`, with the signal and the end of its standard error;
    // `what` names the work.
    std::string result(int status, const std::string &op,
                       const std::string &what = "the code generator") const;

private:
    pid_t pid_ = -1;
    // Descriptors of files in memory: what `work` returned or threw, and the standard error.
    int result_ = -1, stderr_ = -1;
    unsigned seconds_;
};

// Runs `work` in a child process, waits for it, and returns its result as Child::result() does.
// With AddressSanitizer and several threads, fork is not safe, and `work` runs in this process.
std::string run_in_child(const std::string &op, const std::function<std::string()> &work,
                         unsigned seconds = 0, const std::string &what = "the code generator");

// Writes `text` to a file descriptor. Returns false, with errno set, if not all can be written.
bool write_all(int file, const std::string &text);

}  // namespace halyard
