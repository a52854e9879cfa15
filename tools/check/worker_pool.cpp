#include "tools/check/worker_pool.h"

#include <sys/wait.h>

#include <map>

#include "dsl/child.h"
#include "dsl/kernel_cache.h"

namespace halyard::check {
namespace {

// Returns what follows "(...)" in a message of Child::result(): ": TEXT" in
// "[worker] it died (signal 11, Segmentation fault): TEXT".
std::string last_words(const std::string &error) {
    const size_t output = error.find("): ");
    if (output == std::string::npos || output + 3 == error.size()) return "";
    const size_t end = error.find_last_not_of('\n');
    return error.substr(output + 1, end - output);
}

}  // namespace

void in_workers(size_t jobs, size_t at_once, const std::function<std::string(size_t)> &body,
                const std::function<void(size_t, const std::string &)> &done,
                const std::function<void(size_t, const std::string &)> &died) {
    // Opens the cache before forking. If it can't be opened, a private one is made here, which the
    // children then share.
    kernel_cache();
    std::map<size_t, Child> children;  // not reported yet
    std::map<pid_t, size_t> running;
    std::map<size_t, int> ended;  // not reported yet, because one before it still runs
    for (size_t started = 0, reported = 0; reported < jobs;) {
        if (started < jobs && running.size() < at_once) {
            const auto child =
                children.emplace(started, Child([&] { return body(started); })).first;
            running[child->second.pid()] = started++;
            continue;
        }
        int status = 0;
        const auto job = running.find(waitpid(-1, &status, 0));
        if (job == running.end()) continue;
        ended[job->second] = status;
        running.erase(job);
        for (; !ended.empty() && ended.begin()->first == reported; reported++) {
            const int how = ended.begin()->second;
            const Child child = std::move(children.at(reported));
            children.erase(reported);
            ended.erase(reported);
            std::string text, error;
            try {
                text = child.result(how, "worker", "it");
            } catch (const std::exception &e) {
                error = e.what();
            }
            if (WIFSIGNALED(how)) {
                died(reported,
                     "died of signal " + std::to_string(WTERMSIG(how)) + last_words(error));
            } else if (error.empty())
                done(reported, text);
            else
                died(reported, "threw " + error);
        }
    }
}

}  // namespace halyard::check
