// LineProcess: a child process that answers each line with a line.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace halyard::bench {

class LineProcess {
public:
    // Starts `command` with `environment` added to this process's. The child's standard error is
    // discarded.
    LineProcess(const std::vector<std::string> &command,
                const std::map<std::string, std::string> &environment);
    // Forks this process. For each line the child answers what `answer` returns for it. It is in a
    // process group of its own, so the terminal's signals go to this process alone.
    explicit LineProcess(const std::function<std::string(const std::string &line)> &answer);
    ~LineProcess();  // closes the child's input and waits for its end
    LineProcess(const LineProcess &) = delete;
    LineProcess &operator=(const LineProcess &) = delete;

    // Writes `line` to the child, unless it is empty, and returns the child's next line. Returns ""
    // if the child ended or could not be started.
    std::string answer(const std::string &line);

private:
    // Runs `body` in a child process; its argument is the child's end of the socket.
    void start(const std::string &name, const std::function<int(int socket)> &body);

    pid_t pid_ = -1;
    int socket_ = -1;   // this process's end
    std::string rest_;  // read, but not returned yet
};

}  // namespace halyard::bench
