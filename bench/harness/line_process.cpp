#include "bench/harness/line_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "registry/base/error.h"

namespace halyard::bench {

LineProcess::LineProcess(const std::vector<std::string> &command,
                         const std::map<std::string, std::string> &environment) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        throw IoError(command[0], "no pipe for it");
    std::signal(SIGPIPE, SIG_IGN);  // the end of a child shows in its answer
    std::vector<char *> argv;
    for (auto &word : command)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw IoError(command[0], "can't be started");
    if (pid_ == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
        for (auto &[name, value] : environment)
            setenv(name.c_str(), value.c_str(), 1);
        execvp(argv[0], argv.data());
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = from[0];
}

LineProcess::~LineProcess() {
    close(in_);
    close(out_);
    waitpid(pid_, nullptr, 0);
}

std::string LineProcess::answer(const std::string &line) {
    const std::string text = line.empty() ? "" : line + "\n";
    for (size_t done = 0; done < text.size();) {
        const ssize_t n = write(in_, text.data() + done, text.size() - done);
        if (n <= 0) return "";
        done += size_t(n);
    }
    for (char block[4096];;) {
        const size_t end = rest_.find('\n');
        if (end != std::string::npos) {
            const std::string first = rest_.substr(0, end);
            rest_.erase(0, end + 1);
            return first;
        }
        const ssize_t n = read(out_, block, sizeof block);
        if (n <= 0) return "";
        rest_.append(block, size_t(n));
    }
}

}  // namespace halyard::bench
