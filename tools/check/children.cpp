#include "tools/check/children.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "dsl/child.h"
#include "dsl/kernel_cache.h"
#include "registry/base/error.h"

namespace halyard::check {
namespace {

using Clock = std::chrono::steady_clock;

struct RunningJob {
    size_t job;
    pid_t pid;
    int from;  // the reading end of its pipe
    Clock::time_point start;
    bool is_late = false;  // killed because it was still running
    ChildResult result = {};
};

// The factor by which a child may exceed its processor time on the clock, because other processes
// use the machine.
constexpr double patience = 10;

// Precedes the text of an exception in the pipe. Lines are text, so they don't contain it.
constexpr char error_mark = '\0';

void send_text(int to, const std::string &text) {
    if (!write_all(to, text)) _exit(1);
}

// Makes a child the leader of a process group, which its own children join, so that a signal to the
// group ends them too.
void lead_group(pid_t child) {
    setpgid(child, child);
}

[[noreturn]] void run_child(size_t job, int to, double cpu_seconds, const JobBody &body) {
    lead_group(getpid());
    // At the soft limit the system sends SIGXCPU. A second later, at the hard one, it sends
    // SIGKILL, in case the job handles SIGXCPU.
    const auto soft = rlim_t(std::ceil(cpu_seconds));
    const rlimit limit = {soft, soft + 1};
    setrlimit(RLIMIT_CPU, &limit);
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        dup2(nowhere, stream);
    int status = 0;
    try {
        body(job, [to](const std::string &line) { send_text(to, line + "\n"); });
    } catch (const std::exception &e) {
        send_text(to, error_mark + std::string(e.what()));
        status = 1;
    }
    _exit(status);
}

RunningJob start_child(size_t job, double cpu_seconds, const JobBody &body) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("check", "no pipe for a child process");
    // Otherwise a child that calls exit() would write this process's buffered output again.
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) run_child(job, ends[1], cpu_seconds, body);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        throw Error("check", "fork failed");
    }
    lead_group(pid);  // here too, as the child may not have run yet when it is killed
    return {job, pid, ends[0], Clock::now()};
}

// Reads available text. Returns false at end of file, that is, when the child and its own children
// have exited.
bool read_some(RunningJob &c) {
    char text[4096];
    const ssize_t n = read(c.from, text, sizeof text);
    if (n < 0) return errno == EINTR;
    c.result.text.append(text, size_t(n));
    return n > 0;
}

// Waits for a child that has exited or was killed, and returns its status.
int wait_for(const RunningJob &c) {
    close(c.from);
    int status = 0;
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

std::string seconds_text(double seconds) {
    return std::to_string(long(std::ceil(seconds))) + " s";
}

void reap(RunningJob &c, double cpu_seconds) {
    const int status = wait_for(c);
    ChildResult &result = c.result;
    const size_t error = result.text.find(error_mark);
    const bool is_over_limit = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
    result.timed_out = c.is_late || is_over_limit;
    if (c.is_late)
        result.died = "still running after " + seconds_text(patience * cpu_seconds);
    else if (is_over_limit)
        result.died = "exceeded its " + seconds_text(cpu_seconds) + " of processor time";
    else if (WIFSIGNALED(status))
        result.died = "signal " + std::to_string(WTERMSIG(status));
    else if (error != std::string::npos)
        result.died = "threw " + result.text.substr(error + 1);
    else if (WEXITSTATUS(status))
        result.died = "exit " + std::to_string(WEXITSTATUS(status));
    result.text.resize(std::min(error, result.text.size()));
}

// The destructor kills the children that an exception leaves running.
struct RunningJobs {
    std::vector<RunningJob> running;

    ~RunningJobs() {
        for (const RunningJob &c : running) {
            kill(-c.pid, SIGKILL);
            wait_for(c);
        }
    }
    // Waits until a child has written or exited, but not for long: children may be late.
    std::vector<pollfd> wait_for_text() const {
        constexpr int milliseconds = 200;
        std::vector<pollfd> ends;
        for (auto &c : running)
            ends.push_back({c.from, POLLIN, 0});
        poll(ends.data(), ends.size(), milliseconds);
        return ends;
    }
};

void kill_if_late(RunningJob &c, double cpu_seconds) {
    const double seconds = std::chrono::duration<double>(Clock::now() - c.start).count();
    if (c.is_late || seconds <= patience * cpu_seconds) return;
    c.is_late = true;
    kill(-c.pid, SIGKILL);
}

}  // namespace

void run_in_children(size_t jobs, int at_once, double cpu_seconds, const JobBody &body,
                     const std::function<void(size_t, const ChildResult &)> &done) {
    if (at_once < 1) {
        throw AttrError("check", "at_once is " + std::to_string(at_once) + ", expected at least 1");
    }
    // Opens the cache before forking. If that fails, the fallback is a private cache that all
    // children then share, instead of one each.
    kernel_cache();
    RunningJobs unfinished;
    std::vector<RunningJob> &running = unfinished.running;
    for (size_t next = 0; next < jobs || !running.empty();) {
        for (; next < jobs && running.size() < size_t(at_once); next++)
            running.push_back(start_child(next, cpu_seconds, body));
        const std::vector<pollfd> ends = unfinished.wait_for_text();
        for (size_t k = running.size(); k-- > 0;) {
            kill_if_late(running[k], cpu_seconds);
            const bool is_readable = ends[k].revents & (POLLIN | POLLHUP);
            if (!is_readable) continue;
            const bool has_exited = !read_some(running[k]);
            if (!has_exited) continue;
            RunningJob exited = std::move(running[k]);
            running.erase(running.begin() + long(k));
            reap(exited, cpu_seconds);
            done(exited.job, exited.result);
        }
    }
}

}  // namespace halyard::check
