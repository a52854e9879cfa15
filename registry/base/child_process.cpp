#include "registry/base/child_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "registry/base/error.h"

namespace halyard {

pid_t start_child(const std::function<int()> &body) {
    std::fflush(nullptr);  // else the child writes this process's buffered output again
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw Error("process", std::string("can't be started: ") + std::strerror(errno));
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent ended before prctl() took effect
    int status = 1;
    try {
        status = body();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
    } catch (...) {  // the caller's code must not go on in the child
        std::fputs("an exception that is no std::exception\n", stderr);
    }
    std::fflush(nullptr);
    _exit(status);
}

int wait_for_child(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            throw Error("process", std::string("was lost: ") + std::strerror(errno));
    return status;
}

std::string text_of_status(int status) {
    if (!WIFSIGNALED(status)) return "exit " + std::to_string(WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    return "signal " + std::to_string(signal) + ", " + strsignal(signal);
}

std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> part;
    for (;;) {
        const ssize_t n = read(file, part.data(), part.size());
        if (n > 0)
            text.append(part.data(), size_t(n));
        else if (n == 0 || errno != EINTR)
            return text;
    }
}

bool write_all(int file, const std::string &text) {
    for (size_t at = 0; at < text.size();) {
        const ssize_t n = write(file, text.data() + at, text.size() - at);
        if (n > 0)
            at += size_t(n);
        else if (n == 0 || errno != EINTR)
            return false;
    }
    return true;
}

}  // namespace halyard
