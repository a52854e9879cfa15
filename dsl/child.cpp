#include "dsl/child.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "registry/base/error.h"

namespace halyard {
namespace {

enum ExitStatus { returned = 0, threw = 1 };

std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> part;
    lseek(file, 0, SEEK_SET);
    for (ssize_t n; (n = read(file, part.data(), part.size())) > 0;)
        text.append(part.data(), size_t(n));
    return text;
}

// Returns false if the process uses AddressSanitizer and has other threads. Its allocator (GCC 12)
// does not release its locks in a child: if another thread allocates during the fork, the child
// waits forever.
bool can_fork_safely() {
    static const bool asan = dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
    if (!asan) return true;
    std::error_code unknown;  // set if there is no /proc
    const std::filesystem::directory_iterator threads("/proc/self/task", unknown);
    return !unknown && std::distance(begin(threads), end(threads)) == 1;
}

}  // namespace

bool write_all(int file, const std::string &text) {
    for (size_t at = 0; at < text.size();) {
        const ssize_t n = write(file, text.data() + at, text.size() - at);
        if (n <= 0) return false;
        at += size_t(n);
    }
    return true;
}

Child::Child(const std::function<std::string()> &work, unsigned seconds)
    : result_(memfd_create("result", MFD_CLOEXEC)), stderr_(memfd_create("stderr", MFD_CLOEXEC)),
      seconds_(seconds) {
    std::fflush(nullptr);
    pid_ = result_ < 0 || stderr_ < 0 ? -1 : fork();
    if (pid_ < 0)
        throw Error("child", std::string("can't start a process: ") + std::strerror(errno));
    if (pid_ > 0) return;
    dup2(stderr_, STDERR_FILENO);
    if (seconds) alarm(seconds);
    int status = returned;
    std::string text;
    try {
        text = work();
    } catch (const std::exception &e) {
        text = e.what();
        status = threw;
    } catch (...) {  // the caller's code must not go on in the child
        text = "an exception that is no std::exception";
        status = threw;
    }
    if (!write_all(result_, text)) {
        std::perror("result");
        std::abort();
    }
    std::fflush(nullptr);
    _exit(status);  // without the destructors of objects that the parent destroys
}

Child::Child(Child &&other) noexcept
    : pid_(other.pid_), result_(std::exchange(other.result_, -1)),
      stderr_(std::exchange(other.stderr_, -1)), seconds_(other.seconds_) {}

Child::~Child() {
    for (int file : {result_, stderr_})
        if (file >= 0) close(file);
}

std::string Child::result(int status, const std::string &op, const std::string &what) const {
    const std::string text = read_all(result_);
    if (WIFEXITED(status) && WEXITSTATUS(status) == returned) return text;
    if (WIFEXITED(status) && WEXITSTATUS(status) == threw && !text.empty())
        throw std::runtime_error(text);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && seconds_)
        throw DispatchError(op, what + " took more than " + std::to_string(seconds_) + " s");
    const std::string how = WIFSIGNALED(status)
                                ? std::string("signal ") + std::to_string(WTERMSIG(status)) + ", " +
                                      strsignal(WTERMSIG(status))
                                : "exit " + std::to_string(WEXITSTATUS(status));
    throw DispatchError(op, what + " died (" + how + "): " + read_all(stderr_));
}

std::string run_in_child(const std::string &op, const std::function<std::string()> &work,
                         unsigned seconds, const std::string &what) {
    if (!can_fork_safely()) return work();
    const Child child(work, seconds);
    int status = 0;
    while (waitpid(child.pid(), &status, 0) < 0) {
        if (errno != EINTR) {
            throw Error(op,
                        std::string("lost the process that compiled it: ") + std::strerror(errno));
        }
    }
    return child.result(status, op, what);
}

}  // namespace halyard
