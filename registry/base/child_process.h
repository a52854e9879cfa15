// Child processes that are forks of this one: start, wait, and say how one ended. ProcessPool runs
// jobs in them; run_program.h runs other programs.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

namespace halyard {

// Forks, runs `body` in the child and ends it with the status that `body` returns, without the
// destructors of objects that this process destroys. An exception is printed to standard error and
// gives status 1. The child is killed if the thread that called this ends. Throws Error if no
// process can be started.
pid_t start_child(const std::function<int()> &body);

// Waits for the end of a child and returns its status, as waitpid() does. Throws Error if there is
// no such child.
int wait_for_child(pid_t child);

// Returns how a process with this status ended: "signal 11, Segmentation fault" or "exit 3".
std::string text_of_status(int status);

// Reads from the descriptor's position to the end of file.
std::string read_all(int file);
// Returns false, with errno set, if not all of the text can be written.
bool write_all(int file, const std::string &text);

}  // namespace halyard
