#include "tools/halyard/own_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "bench/harness/progress.h"
#include "dsl/kernel_cache.h"
#include "registry/base/child_process.h"
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
    const int status = wait_for_child(start_child([&] {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        ignored.restore();
        check::keep_progress_in(progress);
        return run();
    }));
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    const std::string doing = check::text_of(*progress);
    std::fprintf(stderr, "[%s] died (%s)%s%s\n", command.c_str(), text_of_status(status).c_str(),
                 doing.empty() ? "" : ": ", doing.c_str());
    return 1;
}

}  // namespace halyard::command
