// Child: work in a child process, so that a code generator that aborts takes nothing down with it.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

namespace halyard {

class Child {
public:
    // Starts `work` in a copy of this process, which may take `seconds` (0: any time). Throws Error
    // where there can be none.
    explicit Child(const std::function<std::string()> &work, unsigned seconds = 0);
    ~Child();
    Child(Child &&other) noexcept;
    Child &operator=(Child &&) = delete;

    pid_t pid() const { return pid_; }

    // Of a process that has ended with `status`, as wait() gives it: what `work` returned. Throws
    // std::runtime_error with the text of what it threw; or, for `op`, with the signal and the last
    // words of `what` was at work, where it died.
    std::string result(int status, const std::string &op,
                       const std::string &what = "the code generator") const;

private:
    pid_t pid_ = -1;
    // files in memory: what it returned or threw, and its standard error
    int result_ = -1, said_ = -1;
    unsigned seconds_;
};

// All of it: started, waited for, and its result. Where threads and AddressSanitizer make that
// unsafe it works in this process.
std::string run_in_child(const std::string &op, const std::function<std::string()> &work,
                         unsigned seconds = 0, const std::string &what = "the code generator");

// to a file descriptor; false, with errno, where some can't be written
bool write_all(int file, const std::string &text);

}  // namespace halyard
