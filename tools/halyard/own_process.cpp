#include "tools/halyard/own_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "bench/harness/progress.h"
#include "dsl/kernel_cache.h"
#include "registry/base/error.h"

namespace halyard::command {
namespace {

// Ignores the terminal's signals in this process. The child receives them too, and this process
// waits for its reaction.
class IgnoredInterrupts {
public:
    IgnoredInterrupts() {
        struct sigaction ignore = {};
        ignore.sa_handler = SIG_IGN;
        sigaction(SIGINT, &ignore, &interrupt_);
        sigaction(SIGQUIT, &ignore, &quit_);
    }
    ~IgnoredInterrupts() { restore(); }
    IgnoredInterrupts(const IgnoredInterrupts &) = delete;
    IgnoredInterrupts &operator=(const IgnoredInterrupts &) = delete;
    void restore() const {
        sigaction(SIGINT, &interrupt_, nullptr);
        sigaction(SIGQUIT, &quit_, nullptr);
    }

private:
    struct sigaction interrupt_ = {}, quit_ = {};
};

}  // namespace

int in_own_process(const std::string &command, const Run &run) {
    // If the kernel cache can't be opened, a private one is used, which is removed with this
    // process.
    try {
        kernel_cache();
    } catch (const Error &) {
    }  // the code that needs it reports it
    void *const shared = mmap(nullptr, sizeof(check::Progress), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        throw Error(command,
                    std::string("no memory to share with a process: ") + std::strerror(errno));
    }
    auto *const progress = static_cast<check::Progress *>(shared);
    const IgnoredInterrupts ignored;
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        throw Error(command, std::string("can't start a process: ") + std::strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(1);  // the parent ended before prctl() took effect
        ignored.restore();
        check::keep_progress_in(progress);
        int status = 1;
        try {
            status = run();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
        std::fflush(nullptr);
        _exit(status);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            throw Error(command, std::string("lost its process: ") + std::strerror(errno));
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    const int signal = WTERMSIG(status);
    const std::string doing = check::text_of(*progress);
    std::fprintf(stderr, "[%s] died of signal %d, %s%s%s\n", command.c_str(), signal,
                 strsignal(signal), doing.empty() ? "" : ": ", doing.c_str());
    return 1;
}

}  // namespace halyard::command
