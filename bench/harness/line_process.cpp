#include "bench/harness/line_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "registry/base/child_process.h"
#include "registry/base/error.h"

namespace halyard::bench {
namespace {

// Writes the whole text. Returns false if nobody reads it, without a signal.
bool send_all(int socket, const std::string &text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t n = send(socket, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (n <= 0) return false;
        done += size_t(n);
    }
    return true;
}

// Reads the next line; `rest` keeps what follows it. Returns false at the end.
bool read_line(int socket, std::string &rest, std::string &line) {
    for (char block[4096];;) {
        const size_t end = rest.find('\n');
        if (end != std::string::npos) {
            line = rest.substr(0, end);
            rest.erase(0, end + 1);
            return true;
        }
        const ssize_t n = read(socket, block, sizeof block);
        if (n <= 0) return false;
        rest.append(block, size_t(n));
    }
}

}  // namespace

void LineProcess::start(const std::string &name, const std::function<int(int socket)> &body) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw IoError(name, "no socket for it");
    socket_ = ends[0];
    pid_ = start_child([&] {
        close(ends[0]);  // else the child would never read the end of its own input
        return body(ends[1]);
    });
    close(ends[1]);
}

LineProcess::LineProcess(const std::vector<std::string> &command,
                         const std::map<std::string, std::string> &environment) {
    start(command[0], [&](int socket) {
        dup2(socket, STDIN_FILENO);
        dup2(socket, STDOUT_FILENO);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        for (auto &[name, value] : environment)
            setenv(name.c_str(), value.c_str(), 1);
        std::vector<char *> argv;
        for (auto &word : command)
            argv.push_back(const_cast<char *>(word.c_str()));
        argv.push_back(nullptr);
        execvp(argv[0], argv.data());
        return 127;
    });
}

LineProcess::LineProcess(const std::function<std::string(const std::string &line)> &answer) {
    start("process", [&](int socket) {
        setpgid(0, 0);
        std::string rest, line;
        while (read_line(socket, rest, line) && send_all(socket, answer(line) + "\n")) {
        }
        return 0;
    });
}

LineProcess::~LineProcess() {
    close(socket_);
    waitpid(pid_, nullptr, 0);
}

std::string LineProcess::answer(const std::string &line) {
    std::string next;
    if (!line.empty() && !send_all(socket_, line + "\n")) return "";
    return read_line(socket_, rest_, next) ? next : "";
}

}  // namespace halyard::bench
