// LineProcess: a process that answers a line with a line.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace halyard::bench {

class LineProcess {
public:
    // `environment` is set in the child, beside what this process has. Its standard error is thrown
    // away.
    LineProcess(const std::vector<std::string> &command,
                const std::map<std::string, std::string> &environment);
    ~LineProcess();  // closes its input and waits for its end
    LineProcess(const LineProcess &) = delete;

    // The child's next line, after `line` was written to it ("" writes nothing). "" = it ended, or
    // never began.
    std::string answer(const std::string &line);

private:
    pid_t pid_ = -1;
    int in_ = -1, out_ = -1;  // ours: what it reads, what it writes
    std::string rest_;        // read, but not asked for yet
};

}  // namespace halyard::bench
