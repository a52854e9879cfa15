#include "tools/check/child_check.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "bench/harness/progress.h"
#include "registry/base/process_pool.h"
#include "tools/check/report_json.h"

namespace halyard::check {
namespace {

using Json = nlohmann::json;

// Replaces bytes that are no UTF-8, which a check's failure may quote.
std::string serialized(const Json &json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

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

// Returns "died (signal 6, Aborted) in check reference, f32/avx512 'n=3'", followed by lines with
// the process's output and with the command that repeats the call.
std::string description(const std::string &op, const JobResult &result, const Progress &progress,
                        const Options &o) {
    std::string text = result.how + " in " + text_of(progress);
    std::istringstream lines(result.output);
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
        const JobResult result = run_job([&](const ProcessPool::Send &send) {
            keep_progress_in(progress.get());
            set_failure_listener([&](const std::string &failure) {
                send(serialized(Json{{"failure", failure}}));
            });
            const OpPtr made = op_table().make(op);
            for (size_t k = next; k < checks.size(); k++) {
                const Report r = run_check(*made, checks[k].first, checks[k].second, o);
                send(serialized(Json{{"report", json_of(r)}}));
            }
        });
        Report unfinished;  // the check that was running
        for (const std::string &message : result.messages) {
            const Json line = Json::parse(message);
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
        if (result.has_returned()) continue;
        if (next == checks.size()) {
            all.fail("died after its last check: " + result.description());
            break;
        }
        unfinished.op = op;
        unfinished.check = checks[next++].first;
        unfinished.fail(description(op, result, *progress.get(), o));
        all.add(unfinished);
    }
    return all;
}

}  // namespace halyard::check
