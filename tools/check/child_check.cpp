#include "tools/check/child_check.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "bench/harness/progress.h"
#include "dsl/child.h"
#include "tools/check/report_json.h"

namespace halyard::check {
namespace {

// Memory that a child process writes and this one reads.
class SharedProgress {
public:
    SharedProgress() {
        void *memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw Error("check",
                        std::string("no memory to share with a process: ") + std::strerror(errno));
        }
        progress_ = static_cast<Progress *>(memory);
    }
    ~SharedProgress() { munmap(progress_, sizeof(Progress)); }
    SharedProgress(const SharedProgress &) = delete;
    SharedProgress &operator=(const SharedProgress &) = delete;
    Progress *get() const { return progress_; }

private:
    Progress *progress_ = nullptr;
};

// Lines that a child process leaves, however it ends.
class Lines {
public:
    Lines() : file_(memfd_create("checks", MFD_CLOEXEC)) {
        if (file_ < 0)
            throw Error("check", std::string("no file in memory: ") + std::strerror(errno));
    }
    ~Lines() { close(file_); }
    Lines(const Lines &) = delete;
    Lines &operator=(const Lines &) = delete;
    void add(const nlohmann::json &line) const {
        if (!write_all(file_,
                       line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"))
            throw Error("check", "memory is full");
    }
    std::vector<nlohmann::json> all() const {
        std::string text;
        char part[4096];
        lseek(file_, 0, SEEK_SET);
        for (ssize_t n; (n = read(file_, part, sizeof part)) > 0;)
            text.append(part, size_t(n));
        std::vector<nlohmann::json> lines;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) {
            if (nlohmann::json j = nlohmann::json::parse(line, nullptr, false); !j.is_discarded())
                lines.push_back(std::move(j));
        }
        return lines;
    }

private:
    int file_;
};

// Returns how a process that did not return ended, with its last output: "died (signal 11,
// Segmentation fault): ..."; "" if it returned.
std::string death_of(const Child &child, const std::string &op) {
    int status = 0;
    while (waitpid(child.pid(), &status, 0) < 0)
        if (errno != EINTR) return std::string("was lost: ") + std::strerror(errno);
    try {
        child.result(status, op, "it");
        return "";
    } catch (const std::exception &e) {
        const std::string what = e.what();
        const std::string before = "[" + op + "] it ";
        return what.starts_with(before) ? what.substr(before.size()) : "threw " + what;
    }
}

// Returns "died (signal 6, Aborted) in check reference, f32/avx512 'n=3'", followed by lines with
// the process's output and with the command that repeats the call.
std::string description(const std::string &op, const std::string &death, const Progress &progress,
                        const Options &o) {
    const size_t end = death.find("): ");
    const std::string how = death.substr(0, end == std::string::npos ? end : end + 1);
    const std::string output = end == std::string::npos ? "" : death.substr(end + 3);
    std::string text = how + " in " + text_of(progress);
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
        text += "\n      " + line;
    const std::string check = progress.check;
    const std::string step = progress.step;
    const size_t begin = step.find('\'');
    const size_t close = step.find('\'', begin + 1);
    if ((check == "fuzz" || check == "views") && close != std::string::npos) {
        text += "\n      repeat: halyard check " + op + " --fuzz-case \"" +
                step.substr(begin + 1, close - begin - 1) + "\"" + o.repro_options;
    }
    return text;
}

}  // namespace

Report check_in_child(const std::string &op, const NamedChecks &checks, const Options &o) {
    Report all;
    all.op = op;
    const SharedProgress progress;
    for (size_t next = 0; next < checks.size();) {
        const Lines lines;
        const Child child([&] {
            keep_progress_in(progress.get());
            set_failure_listener([&](const std::string &failure) {
                lines.add({{"failure", failure}});
            });
            const OpPtr made = op_table().make(op);
            for (size_t k = next; k < checks.size(); k++) {
                lines.add(
                    {{"report", json_of(run_check(*made, checks[k].first, checks[k].second, o))}});
            }
            return std::string();
        });
        const std::string death = death_of(child, op);
        Report unfinished;  // the check that was running
        for (const nlohmann::json &line : lines.all()) {
            if (line.contains("report")) {
                all.add(report_of(line["report"]));
                all.checks.back().op = op;
                next++;
                unfinished = Report();
            } else {
                const std::string failure = line.at("failure");
                unfinished.failures.push_back(failure);
                unfinished.kinds.push_back(failure_kind(failure));
                unfinished.failed++;
            }
        }
        if (death.empty()) continue;
        if (next == checks.size()) {
            all.fail("died after its last check: " + death);
            break;
        }
        unfinished.op = op;
        unfinished.check = checks[next++].first;
        unfinished.fail(description(op, death, *progress.get(), o));
        all.add(unfinished);
    }
    return all;
}

}  // namespace halyard::check
