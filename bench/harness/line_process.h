// LineProcess: a child process that answers each line with a line.
#pragma once
#include <sys/types.h>

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
    ~LineProcess();  // closes the child's input and waits for its end
    LineProcess(const LineProcess &) = delete;

    // Writes `line` to the child, unless it is empty, and returns the child's next line. Returns ""
    // if the child ended or could not be started.
    std::string answer(const std::string &line);

private:
    pid_t pid_ = -1;
    int in_ = -1, out_ = -1;  // this process's ends: writes to the child, reads from it
    std::string rest_;        // read, but not returned yet
};

}  // namespace halyard::bench
