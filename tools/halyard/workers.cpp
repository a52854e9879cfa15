#include "tools/halyard/workers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "registry/error.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

fs::path temporary_folder() {
    std::string name = fs::temp_directory_path() / "halyard_XXXXXX";
    if (!mkdtemp(name.data())) throw IoError(name, "can't be made");
    return name;
}

[[noreturn]] void work(const fs::path &result, const std::function<std::string()> &body) {
    int status = 0;
    std::string text;
    try {
        text = body();
    } catch (const std::exception &e) { text = e.what(), status = 1; }
    std::ofstream file(result);
    file << text;
    file.close();
    std::fflush(nullptr);
    _exit(file ? status : 1);  // no destructors: what stands in this process is its parent's
}

std::string read(const fs::path &path) {
    std::ifstream file(path);
    return std::string((std::istreambuf_iterator<char>(file)), {});
}

}  // namespace

void in_workers(size_t jobs, size_t at_once, const std::function<std::string(size_t)> &body, const std::function<void(size_t, const std::string &)> &done,
                const std::function<void(size_t, const std::string &)> &died) {
    const fs::path folder = temporary_folder();
    std::map<pid_t, size_t> running;
    std::map<size_t, int> ended;  // and not reported yet, because one before it still runs
    for (size_t started = 0, reported = 0; reported < jobs;) {
        if (started < jobs && running.size() < at_once) {
            std::fflush(nullptr);
            const pid_t pid = fork();
            if (pid < 0) throw Error("workers", "fork failed");
            if (pid == 0) work(folder / std::to_string(started), [&] { return body(started); });
            running[pid] = started++;
            continue;
        }
        int status = 0;
        const pid_t pid = waitpid(-1, &status, 0);
        const auto job = running.find(pid);
        if (job == running.end()) continue;
        ended[job->second] = status;
        running.erase(job);
        for (; !ended.empty() && ended.begin()->first == reported; reported++) {
            const int how = ended.begin()->second;
            const std::string text = read(folder / std::to_string(reported));
            ended.erase(ended.begin());
            if (how == 0) done(reported, text);
            else died(reported, WIFSIGNALED(how) ? "died of signal " + std::to_string(WTERMSIG(how)) : "threw " + text);
        }
    }
    fs::remove_all(folder);
}

}  // namespace halyard::command
