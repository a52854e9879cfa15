// Other programs, started with a list of arguments: no shell sees them, so a file may have any
// name.
#pragma once
#include <string>
#include <vector>

namespace halyard {

// what of it is kept as text; other errors go nowhere
enum class Keep { output, output_and_errors };

struct Ended {
    int status = 0;    // as waitpid() gives it; 0: done
    std::string text;  // what it said
};

// Runs `words`, a program from PATH and its arguments, to its end, with nothing to read. Throws
// Error where it can't be started.
Ended run_program(const std::vector<std::string> &words, Keep keep);

bool has_program(const std::string &name);  // in PATH

}  // namespace halyard
