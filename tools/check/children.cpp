#include "tools/check/children.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "dsl/kernel_cache.h"
#include "registry/base/error.h"

namespace halyard::check {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
    size_t job;
    pid_t pid;
    int from;  // the reading end of its pipe
    Clock::time_point start;
    bool late = false;
    ChildResult result = {};
};

// The factor by which a child may exceed its processor time on the clock, because other processes
// use the machine.
constexpr double patience = 10;

[[noreturn]] void work(size_t i, int to, double seconds,
                       const std::function<void(size_t, const Send &)> &job) {
    setpgid(0, 0);  // so that its own children end with it
    const rlimit limit = {(rlim_t)std::ceil(seconds), (rlim_t)std::ceil(seconds) + 1};
    setrlimit(RLIMIT_CPU, &limit);
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        dup2(nowhere, stream);
    int status = 0;
    const Send send = [&](const std::string &line) {
        const std::string text = line + "\n";
        if (write(to, text.data(), text.size()) < 0) _exit(1);
    };
    try {
        job(i, send);
    } catch (const std::exception &) {
        status = 1;
    }
    _exit(status);
}

Child started(size_t i, double seconds, const std::function<void(size_t, const Send &)> &job) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("check", "no pipe for a child process");
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) work(i, ends[1], seconds, job);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        throw Error("check", "fork failed");
    }
    return {i, pid, ends[0], Clock::now()};
}

// Reads available text. Returns false if the child has closed its end, which ending does.
bool read_some(Child &c) {
    char text[4096];
    const ssize_t n = read(c.from, text, sizeof text);
    if (n > 0) c.result.text.append(text, size_t(n));
    return n > 0;
}

void end(Child &c, double seconds) {
    close(c.from);
    int status = 0;
    waitpid(c.pid, &status, 0);
    if (c.late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        c.result.died = "no end after " + std::to_string(int(seconds)) + " s";
    else if (WIFSIGNALED(status))
        c.result.died = "signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status))
        c.result.died = "exit " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

void run_in_children(size_t jobs, int at_once, double seconds,
                     const std::function<void(size_t, const Send &)> &job,
                     const std::function<void(size_t, const ChildResult &)> &done) {
    kernel_cache();  // if it can't be opened, all children use one private cache
    std::vector<Child> running;
    for (size_t next = 0; next < jobs || !running.empty();) {
        while (next < jobs && running.size() < size_t(at_once))
            running.push_back(started(next++, seconds, job));
        std::vector<pollfd> ends;
        for (auto &c : running)
            ends.push_back({c.from, POLLIN, 0});
        poll(ends.data(), ends.size(), 200);
        for (size_t k = running.size(); k-- > 0;) {
            Child &c = running[k];
            if (!c.late && std::chrono::duration<double>(Clock::now() - c.start).count() >
                               patience * seconds) {
                c.late = true;
                kill(-c.pid, SIGKILL);
            }
            if (!(ends[k].revents & (POLLIN | POLLHUP)) || read_some(c)) continue;
            end(c, seconds);
            const Child ended = c;
            running.erase(running.begin() + long(k));
            done(ended.job, ended.result);
        }
    }
}

}  // namespace halyard::check
