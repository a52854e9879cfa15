#include "registry/base/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "registry/base/child_process.h"
#include "registry/base/error.h"

namespace halyard {

Ended run_program(const std::vector<std::string> &words, Keep keep) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw Error(words[0], std::string("can't be started: no pipe: ") + std::strerror(errno));
    std::vector<char *> arguments;
    for (const std::string &word : words)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (keep == Keep::output_and_errors)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(),
                                    environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    Ended ended;
    if (!failed) ended.text = read_all(ends[0]);
    close(ends[0]);
    if (failed) throw Error(words[0], std::string("can't be started: ") + std::strerror(failed));
    ended.status = wait_for_child(child);
    return ended;
}

std::string early_ending(const Ended &ended) {
    return "the program ends early, with status " + std::to_string(ended.status) +
           (ended.text.empty() ? "" : ": " + ended.text);
}

bool has_program(const std::string &name) {
    const char *path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/bin:/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (access(((folder.empty() ? "." : folder) + "/" + name).c_str(), X_OK) == 0) return true;
    return false;
}

}  // namespace halyard
