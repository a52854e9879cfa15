// Running other programs with a list of arguments. There is no shell, so a file may have any name.
#pragma once
#include <string>
#include <vector>

namespace halyard {

// The output that is kept as text. Errors that are not kept are discarded.
enum class Keep { output, output_and_errors };

struct Ended {
    int status = 0;    // waitpid()'s; 0: success
    std::string text;  // the output
};

// Runs a program from PATH, words[0], with its arguments and an empty standard input, to its end.
// Throws Error if it can't be started.
Ended run_program(const std::vector<std::string> &words, Keep keep);

// Returns "the program ends early, with status 9: its output", for a program that did.
std::string early_ending(const Ended &ended);

bool has_program(const std::string &name);  // true if PATH has it

}  // namespace halyard
