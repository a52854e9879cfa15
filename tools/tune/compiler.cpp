#include "tools/tune/compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dsl/child.h"
#include "dsl/kernel_cache.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/text.h"
#include "tools/check/check.h"
#include "tools/tune/algorithm.h"
#include "tools/tune/autoscheduler.h"

namespace halyard::tune {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Layouts, inputs, outputs, dense_inputs, dense_outputs, scalars)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Job, op, dtypes, variant, backend, isa, tunables, autoscheduler,
                                   layouts, threads, problem, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Built, error, algorithm, code, library, symbol, lanes, tunables,
                                   offered, source)

namespace {
using nlohmann::json;

std::string short_line(const std::string &text) {
    constexpr size_t max_length = 300;
    const std::string line = one_line(text);
    return line.size() > max_length ? line.substr(0, max_length) + "..." : line;
}

Instance instance_of(const Job &job) {
    Instance i;
    i.backend = job.backend;
    i.dtypes = job.dtypes;
    i.variant = job.variant;
    i.isa = job.isa;
    i.tunables.chosen = job.tunables;
    return i;
}

std::string proof(const Job &job) {
    check::Options o;
    o.isas = {job.isa};
    o.variant = job.variant;
    o.tunables.chosen = job.tunables;
    if (!job.autoscheduler.empty()) {
        std::string why;
        o.kernel = exact_autoscheduled(job, why);
        if (!o.kernel) return why;
    }
    const OpPtr op = op_table().make(job.op);
    if (!job.problem.empty()) op->samples.push_back(job.problem);
    check::Report r;
    r.op = job.op;
    check::check_exact(*op, o, r);
    if (r.failed) return r.failures[0];
    return r.passed ? "" : r.notes.empty() ? "no sample reaches it" : r.notes[0];
}

Built work(const std::string &what, const Job &job) {
    Built b;
    const Instance i = instance_of(job);
    if (what == "prove") {
        b.error = proof(job);
        return b;
    }
    if (!job.autoscheduler.empty())
        b = autoschedule(job);
    else {
        Kernel k(op_table().make(job.op), i);
        b.lanes = k.lanes;
        for (auto &[name, value] : k.instance.tunables.values())
            b.tunables[name] = int(value);
        b.offered = k.instance.tunables.offered;
        if (what == "build") {
            k.load();
            b.symbol = i.symbol(k.op->name);
            b.library = k.library();
        }
    }
    b.code = b.library.empty() ? ""
                               : std::filesystem::path(b.library).stem().string().substr(0, 16);
    b.algorithm = algorithm_of(job.op, i);
    return b;
}

// Runs in a child process: writes the answer to `out` and other output to `said`.
[[noreturn]] void worker(const std::string &what, const Job &job, int out, int said) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(said, STDERR_FILENO);
    dup2(said, STDOUT_FILENO);
    Built b;
    try {
        b = work(what, job);
    } catch (const Halide::Error &e) {
        b.error = short_line(e.what());
    } catch (const std::exception &e) {
        b.error = short_line(e.what());
    }
    _exit(write_all(out, json(b).dump() + "\n") ? 0 : 1);
}

// Returns the last line that names an error or an assertion, else the last line.
std::string last_words(int said) {
    std::string text;
    char buffer[4096];
    lseek(said, 0, SEEK_SET);
    for (ssize_t n; (n = read(said, buffer, sizeof buffer)) > 0;)
        text.append(buffer, size_t(n));
    std::string last, telling;
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) continue;
        last = line;
        if (line.find("rror") != std::string::npos || line.find("ssert") != std::string::npos)
            telling = line;
    }
    return short_line(telling.empty() ? last : telling);
}

std::string seconds_text(double seconds) {
    std::ostringstream s;
    s << seconds;
    return s.str();
}

Built in_child(const std::string &what, const Job &job) {
    int ends[2];
    const int said = memfd_create("said", MFD_CLOEXEC);
    if (said < 0 || pipe2(ends, O_CLOEXEC) != 0)
        throw Error("tune", "no pipe for a compiling process");
    const pid_t pid = fork();
    if (pid < 0) throw Error("tune", "fork failed");
    if (pid == 0) worker(what, job, ends[1], said);
    close(ends[1]);
    std::string answer;
    bool late = false;
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::duration<double>(job.seconds);
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                              until - std::chrono::steady_clock::now())
                              .count();
        pollfd ready{ends[0], POLLIN, 0};
        if (left <= 0 || poll(&ready, 1, int(left)) == 0) {
            late = true;
            kill(pid, SIGKILL);
            break;
        }
        char buffer[4096];
        const ssize_t n = read(ends[0], buffer, sizeof buffer);
        if (n <= 0) break;
        answer.append(buffer, size_t(n));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    Built b;
    const std::string who = job.autoscheduler.empty() ? "the code generator" : job.autoscheduler;
    if (late)
        b.error = who + " took more than " + seconds_text(job.seconds) + " s";
    else if (WIFSIGNALED(status)) {
        b.error = who + " died (signal " + std::to_string(WTERMSIG(status)) +
                  "): " + last_words(said);
    } else if (answer.empty())
        b.error = who + " ended without an answer: " + last_words(said);
    else
        b = json::parse(answer).get<Built>();
    if (what == "prove" && !b.error.empty() && !b.error.starts_with("exact/"))
        b.error = "not proved: " + b.error;
    close(ends[0]);
    close(said);
    return b;
}

bool read_line(int file, std::string &line) {
    line.clear();
    for (char c; read(file, &c, 1) == 1;) {
        if (c == '\n') return true;
        line += c;
    }
    return false;
}

[[noreturn]] void serve(int from, int to) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);  // the parent handles Ctrl-C
    set_threads(1);
    for (std::string line; read_line(from, line);) {
        Built b;
        try {
            const json request = json::parse(line);
            b = in_child(request.at("what"), request.at("job").get<Job>());
        } catch (const std::exception &e) {
            b.error = e.what();
        }
        if (!write_all(to, json(b).dump() + "\n")) break;
    }
    _exit(0);
}

}  // namespace

Compiler::Compiler() {
    kernel_cache();  // this process opens kernels that its children put there
    int requests[2], answers[2];
    if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0)
        throw Error("tune", "no pipe for a compiling process");
    std::fflush(nullptr);
    server_ = fork();
    if (server_ < 0) throw Error("tune", "fork failed");
    if (server_ == 0) {
        close(requests[1]);
        close(answers[0]);
        serve(requests[0], answers[1]);
    }
    close(requests[0]);
    close(answers[1]);
    to_ = requests[1];
    from_ = answers[0];
}

Compiler::~Compiler() {
    close(to_);
    close(from_);
    waitpid(server_, nullptr, 0);
}

Built Compiler::ask(const char *what, const Job &job) {
    std::string line;
    if (!write_all(to_, json{{"what", what}, {"job", job}}.dump() + "\n") ||
        !read_line(from_, line))
        throw Error("tune", "the compiling process is gone");
    return json::parse(line).get<Built>();
}

KernelFn load(const Built &built) {
    void *handle = dlopen(built.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto fn = handle ? reinterpret_cast<KernelFn>(
                                 dlsym(handle, (built.symbol + "_argv").c_str()))
                           : nullptr;
    if (!fn) throw DispatchError(built.symbol, std::string("can't be opened: ") + dlerror());
    return fn;
}

}  // namespace halyard::tune
