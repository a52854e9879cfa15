#include "registry/base/process_pool.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "registry/base/child_process.h"
#include "registry/base/error.h"

namespace halyard {
namespace {

using Clock = std::chrono::steady_clock;

// What a job writes into its pipe: a kind, the size, and the text. A job that returns writes `end`,
// which tells it from one that calls exit(0). A job that throws writes the type and the text of the
// exception.
enum class Kind : char { message = 'm', end = 'r', exception_type = 't', exception_text = 'e' };

std::string framed(Kind kind, const std::string &text) {
    const uint64_t size = text.size();
    std::string frame(1, static_cast<char>(kind));
    frame.append(reinterpret_cast<const char *>(&size), sizeof size);
    return frame + text;
}

// Reads the frame at `at` and moves `at` behind it. Returns false at the end, and at an incomplete
// frame, which a job that died may leave.
bool next_frame(const std::string &received, size_t &at, Kind &kind, std::string &text) {
    constexpr size_t header = 1 + sizeof(uint64_t);
    if (received.size() - at < header) return false;
    uint64_t size = 0;
    std::memcpy(&size, received.data() + at + 1, sizeof size);
    if (received.size() - at - header < size) return false;
    kind = static_cast<Kind>(received[at]);
    text = received.substr(at + header, size);
    at += header + size;
    return true;
}

std::string readable(const char *type) {
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(type, nullptr, nullptr, nullptr), &std::free);
    return name ? name.get() : type;
}

// The ends of a job's pipe, and the file in memory that keeps its output; -1 if it keeps none.
class Streams {
public:
    explicit Streams(bool keeps_output) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) fail();
        from_ = ends[0];
        to_ = ends[1];
        if (!keeps_output) return;
        output_ = memfd_create("output", MFD_CLOEXEC);
        if (output_ < 0) fail();
    }
    Streams(Streams &&other) noexcept
        : from_(std::exchange(other.from_, -1)), to_(std::exchange(other.to_, -1)),
          output_(std::exchange(other.output_, -1)) {}
    Streams &operator=(Streams &&other) noexcept {
        std::swap(from_, other.from_);
        std::swap(to_, other.to_);
        std::swap(output_, other.output_);
        return *this;
    }
    ~Streams() {
        for (const int file : {from_, to_, output_})
            if (file >= 0) close(file);
    }

    int from() const { return from_; }
    int to() const { return to_; }
    int output() const { return output_; }
    void close_to() { close(std::exchange(to_, -1)); }
    std::string kept() const {
        if (output_ < 0) return "";
        lseek(output_, 0, SEEK_SET);
        return read_all(output_);
    }

private:
    [[noreturn]] void fail() const {
        throw Error("process", std::string("has no pipe: ") + std::strerror(errno));
    }
    int from_ = -1, to_ = -1, output_ = -1;
};

struct RunningJob {
    size_t job = 0;
    Streams streams;
    pid_t pid = -1;
    Clock::time_point start = Clock::now();
    bool is_late = false;  // killed because of the clock
    std::string received = {};
};

// The processes of one call of ProcessPool::run(). The destructor kills those that an exception
// leaves running.
class RunningJobs {
public:
    RunningJobs(ProcessPool::Limits limits, ProcessPool::Output output)
        : limits_(limits), output_(output) {}
    ~RunningJobs() {
        for (const RunningJob &j : running_) {
            kill_job(j);
            waitpid(j.pid, nullptr, 0);
        }
    }
    RunningJobs(const RunningJobs &) = delete;
    RunningJobs &operator=(const RunningJobs &) = delete;

    size_t count() const { return running_.size(); }

    void start(size_t job, const ProcessPool::Job &body) {
        RunningJob j{job, Streams(output_ != ProcessPool::Output::discard)};
        j.pid = start_child([&] { return run_body(job, body, j.streams); });
        if (leads_group()) setpgid(j.pid, j.pid);  // the child may not have run yet
        j.streams.close_to();
        running_.push_back(std::move(j));
    }

    // Waits until a job has written, ended or exceeded its time, and returns the jobs that ended.
    std::vector<RunningJob> wait() {
        std::vector<pollfd> ends;
        for (const RunningJob &j : running_)
            ends.push_back({j.streams.from(), POLLIN, 0});
        poll(ends.data(), ends.size(), milliseconds_left());
        std::vector<RunningJob> ended;
        for (size_t k = running_.size(); k-- > 0;) {
            kill_if_late(running_[k]);
            const bool is_readable = ends[k].revents & (POLLIN | POLLHUP);
            if (!is_readable || read_some(running_[k])) continue;
            ended.push_back(std::move(running_[k]));
            running_.erase(running_.begin() + std::ptrdiff_t(k));
        }
        return ended;
    }

    JobResult result_of(const RunningJob &j) const {
        const int status = wait_for_child(j.pid);
        JobResult r;
        std::string type, text;
        bool has_returned = false;
        Kind kind = Kind::message;
        for (size_t at = 0; next_frame(j.received, at, kind, text);) {
            switch (kind) {
            case Kind::message: r.messages.push_back(std::move(text)); break;
            case Kind::end: has_returned = true; break;
            case Kind::exception_type: type = std::move(text); break;
            case Kind::exception_text: r.error = std::move(text); break;
            }
        }
        r.output = j.streams.kept();
        if (WIFSIGNALED(status)) r.signal = WTERMSIG(status);
        if (!has_returned) describe(j, status, type, r);
        return r;
    }

private:
    void describe(const RunningJob &j, int status, const std::string &type, JobResult &r) const {
        if (j.is_late) {
            r.ending = JobResult::Ending::timed_out;
            r.how = fmt::format("took more than {} s", limits_.seconds);
        } else if (limits_.cpu_seconds > 0 && r.signal == SIGXCPU) {
            r.ending = JobResult::Ending::timed_out;
            r.how = fmt::format("took more than {} s of processor time", limits_.cpu_seconds);
        } else if (!type.empty()) {
            r.ending = JobResult::Ending::threw;
            r.how = "threw " + type + (r.error.empty() ? " without a message" : ": " + r.error);
        } else {
            r.ending = JobResult::Ending::died;
            r.how = "died (" + text_of_status(status) + ")";
        }
    }

    bool has_limit() const { return limits_.seconds > 0 || limits_.cpu_seconds > 0; }
    // Its own children join the group, so that a signal to the group ends them too. A job without
    // limits stays in this process's group, and gets the terminal's signals.
    bool leads_group() const { return has_limit(); }
    void kill_job(const RunningJob &j) const { kill(leads_group() ? -j.pid : j.pid, SIGKILL); }

    int run_body(size_t job, const ProcessPool::Job &body, const Streams &streams) const {
        if (leads_group()) setpgid(0, 0);
        if (limits_.cpu_seconds > 0) {
            // At the soft limit the system sends SIGXCPU. A second later, at the hard one, it sends
            // SIGKILL, in case the job handles SIGXCPU.
            const auto soft = rlim_t(std::ceil(limits_.cpu_seconds));
            const rlimit limit = {soft, soft + 1};
            setrlimit(RLIMIT_CPU, &limit);
        }
        redirect(streams);
        const auto put = [&](Kind kind, const std::string &text) {
            if (!write_all(streams.to(), framed(kind, text))) _exit(1);
        };
        try {
            body(job, [&](const std::string &text) { put(Kind::message, text); });
            put(Kind::end, "");
            return 0;
        } catch (const std::exception &e) {
            put(Kind::exception_type, readable(typeid(e).name()));
            put(Kind::exception_text, e.what());
        } catch (...) {
            put(Kind::exception_type, readable(abi::__cxa_current_exception_type()->name()));
        }
        return 1;
    }
    void redirect(const Streams &streams) const {
        using Output = ProcessPool::Output;
        const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        const int to = output_ == Output::discard ? nowhere : streams.output();
        dup2(nowhere, STDIN_FILENO);
        if (output_ != Output::keep_errors) dup2(to, STDOUT_FILENO);
        dup2(to, STDERR_FILENO);
    }

    // Returns the time until the next job is late, for poll(); -1 if none can be.
    int milliseconds_left() const {
        if (limits_.seconds <= 0) return -1;
        double left = limits_.seconds;
        for (const RunningJob &j : running_)
            if (!j.is_late) left = std::min(left, limits_.seconds - seconds_since(j.start));
        return std::max(0, int(std::ceil(1000 * left)));
    }
    static double seconds_since(Clock::time_point start) {
        return std::chrono::duration<double>(Clock::now() - start).count();
    }
    void kill_if_late(RunningJob &j) const {
        if (limits_.seconds <= 0 || j.is_late || seconds_since(j.start) <= limits_.seconds) return;
        j.is_late = true;
        kill_job(j);
    }

    // Reads available text. Returns false at end of file, that is, when the job and its own
    // children have ended.
    static bool read_some(RunningJob &j) {
        char text[65536];
        const ssize_t n = read(j.streams.from(), text, sizeof text);
        if (n < 0) return errno == EINTR;
        j.received.append(text, size_t(n));
        return n > 0;
    }

    const ProcessPool::Limits limits_;
    const ProcessPool::Output output_;
    std::vector<RunningJob> running_;
};

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

std::string JobResult::text() const {
    std::string all;
    for (const std::string &m : messages)
        all += m;
    return all;
}

std::string JobResult::description() const {
    const size_t end = output.find_last_not_of('\n');
    if (ending != Ending::died || end == std::string::npos) return how;
    return how + ": " + output.substr(0, end + 1);
}

void JobResult::require_return(const std::string &op, const std::string &what) const {
    if (has_returned()) return;
    if (!error.empty()) throw std::runtime_error(error);
    throw DispatchError(op, what + " " + description());
}

ProcessPool::ProcessPool(size_t at_once, Limits limits, Output output)
    : at_once_(at_once), limits_(limits), output_(output) {
    if (at_once == 0) throw AttrError("process", "0 jobs at once, expected at least 1");
}

void ProcessPool::run(size_t jobs, const Job &job, const Done &done) const {
    RunningJobs running(limits_, output_);
    for (size_t next = 0; next < jobs || running.count() > 0;) {
        for (; next < jobs && running.count() < at_once_; next++)
            running.start(next, job);
        for (const RunningJob &ended : running.wait())
            done(ended.job, running.result_of(ended));
    }
}

void ProcessPool::run_in_order(size_t jobs, const Job &job, const Done &done) const {
    std::map<size_t, JobResult> waiting;  // for the end of a job before them
    size_t next = 0;
    run(jobs, job, [&](size_t ended, const JobResult &result) {
        waiting.emplace(ended, result);
        for (; !waiting.empty() && waiting.begin()->first == next; next++) {
            done(next, waiting.begin()->second);
            waiting.erase(waiting.begin());
        }
    });
}

JobResult run_job(const std::function<void(const ProcessPool::Send &send)> &job,
                  ProcessPool::Limits limits, ProcessPool::Output output) {
    JobResult result;
    ProcessPool(1, limits, output)
        .run(
            1, [&](size_t, const ProcessPool::Send &send) { job(send); },
            [&](size_t, const JobResult &r) { result = r; });
    return result;
}

std::string run_in_child(const std::string &op, const std::function<std::string()> &work,
                         double seconds, const std::string &what) {
    if (!can_fork_safely()) return work();
    const JobResult result = run_job([&](const ProcessPool::Send &send) { send(work()); },
                                     {seconds, 0});
    result.require_return(op, what);
    return result.text();
}

}  // namespace halyard
