#include "tests/fuzz/run_calls.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "registry/base/error.h"
#include "registry/tensor/memory.h"
#include "tests/fuzz/check_call.h"

#ifdef __SANITIZE_ADDRESS__
extern "C" int __lsan_do_recoverable_leak_check();
#endif

namespace halyard::fuzz {
namespace {

constexpr int leaked = 99;  // The exit status of a leak.

// The memory that a child and its parent share.
struct Shared {
    volatile uint64_t number;  // The number of the call that runs.
    uint64_t done, rejected;
    uint64_t wrong;  // The number of texts below that are used.
    struct {
        uint64_t number;
        char what[1500];
    } failures[64];
};

class SharedMemory {
public:
    SharedMemory() {
        void *p = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);
        if (p == MAP_FAILED) throw Error("fuzz", "no shared memory");
        shared_ = static_cast<Shared *>(p);
    }
    ~SharedMemory() { munmap(shared_, sizeof(Shared)); }
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;
    Shared *operator->() const { return shared_; }
    Shared &operator*() const { return *shared_; }

private:
    Shared *shared_;
};

void keep(Shared &s, uint64_t number, const std::string &what) {
    if (s.wrong >= std::size(s.failures)) return;
    auto &f = s.failures[s.wrong++];
    f.number = number;
    std::snprintf(f.what, sizeof f.what, "%s", what.c_str());
}

// The kernel ends this process with SIGPROF when a call has taken this much processor time.
void limit_time(double seconds) {
    const double whole = std::floor(seconds);
    const itimerval timer = {{0, 0}, {(time_t)whole, (suseconds_t)((seconds - whole) * 1e6)}};
    setitimer(ITIMER_PROF, &timer, nullptr);
}

std::string seconds_text(double seconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%g", seconds);
    return text;
}

[[noreturn]] void work(const std::vector<const RegisteredOp *> &ops, const CallOptions &o,
                       uint64_t from, uint64_t to, Shared &s) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    set_device(o.device);
    for (uint64_t number = from; number < to; number += o.stride) {
        s.number = number;
        limit_time(o.seconds);
        const RandomCall call = random_call(ops, number);
        memory::set_limit(memory_limit);
        const CallResult v = check_call(call);
        s.done++;
        s.rejected += v.rejected;
        if (!v.wrong.empty()) keep(s, number, call.text() + "\n    " + v.wrong);
    }
    limit_time(0);
    s.number = to;
#ifdef __SANITIZE_ADDRESS__
    if (__lsan_do_recoverable_leak_check()) _exit(leaked);
#endif
    _exit(0);
}

// Returns how the child that makes these calls ended, or "" if it completed.
std::string end_of(const std::vector<const RegisteredOp *> &ops, const CallOptions &o,
                   uint64_t from, uint64_t to, Shared &s) {
    s.number = from;
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) throw Error("fuzz", "fork failed");
    if (pid == 0) {
        try {
            work(ops, o, from, to, s);
        } catch (const std::exception &e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
        _exit(1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        return "no end after " + seconds_text(o.seconds) + " s of processor time";
    if (WIFSIGNALED(status)) return "died of signal " + std::to_string(WTERMSIG(status));
    if (WEXITSTATUS(status) == leaked)
        return "memory leaked in one of the calls from " + std::to_string(from);
    return WEXITSTATUS(status) ? "ended with exit status " + std::to_string(WEXITSTATUS(status))
                               : "";
}

}  // namespace

Outcome run_calls(const std::vector<const RegisteredOp *> &ops, const CallOptions &o) {
    const SharedMemory shared;
    Outcome all;
    const uint64_t end = o.first + o.count * o.stride;
    for (uint64_t from = o.first; from < end && all.failures.size() < o.max_failures;) {
        const uint64_t to = std::min(end, from + o.calls_per_child * o.stride);
        *shared = {};
        std::string died = end_of(ops, o, from, to, *shared);
        all.calls += shared->done;
        all.rejected += shared->rejected;
        for (uint64_t k = 0; k < shared->wrong; k++)
            all.failures.push_back({shared->failures[k].number, shared->failures[k].what});
        if (died.empty()) {
            from = to;
            continue;
        }
        const uint64_t number = std::min<uint64_t>(uint64_t{shared->number}, to - o.stride);
        const bool at_end = shared->number == to;
        if (!at_end && number > from && end_of(ops, o, number, number + 1, *shared).empty())
            died += "; alone it ends well, the calls from " + std::to_string(from) + " on do it";
        all.calls += !at_end;
        all.failures.push_back({number, random_call(ops, number).text() + "\n    " + died});
        from = at_end ? to : number + o.stride;
    }
    return all;
}

bool in_a_child(const std::function<bool()> &question) {
    const pid_t pid = fork();
    if (pid < 0) throw Error("fuzz", "fork failed");
    if (pid == 0) {
        bool answer = false;
        try {
            answer = question();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
        _exit(answer ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace halyard::fuzz
