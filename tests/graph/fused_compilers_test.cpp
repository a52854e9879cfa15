// The processes that compile kernels of regions: they may be killed again and again, while two
// programs of four threads each share one cache, without a wrong result or a damaged entry; they
// may be missing, and they may log.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

// Returns the children of a process that compile kernels.
std::vector<pid_t> compilers_of(pid_t parent) {
    std::vector<pid_t> found;
    std::error_code gone;
    const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
    for (const auto &task : fs::directory_iterator(tasks, gone)) {
        std::ifstream of_task(task.path() / "children");
        for (pid_t child = 0; of_task >> child;) {
            std::ifstream command("/proc/" + std::to_string(child) + "/cmdline", std::ios::binary);
            const std::string words{std::istreambuf_iterator<char>(command), {}};
            if (words.find(std::string("fuse") + '\0') != std::string::npos) found.push_back(child);
        }
    }
    return found;
}

pid_t started(const std::string &seed, const std::string &count, const std::string &cache) {
    const std::string cache_home = "XDG_CACHE_HOME=" + cache;
    std::vector<char *> environment{const_cast<char *>(cache_home.c_str())};
    for (char **entry = environ; *entry; entry++)
        if (!std::string(*entry).starts_with("XDG_CACHE_HOME=")) environment.push_back(*entry);
    environment.push_back(nullptr);
    std::vector<std::string> words{HALYARD_FUSED_RUN, seed, count};
    std::vector<char *> arguments;
    for (std::string &word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = -1;
    EXPECT_EQ(
        posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environment.data()),
        0);
    return child;
}

// HALYARD_KILLS kills, 6 without it.
TEST(FusedCompilers, ChangeNoResultWhenKilled) {
    if (!fs::exists("/proc/self/task")) GTEST_SKIP() << "needs /proc";
    const char *given = std::getenv("HALYARD_KILLS");
    const int wanted = given ? std::atoi(given) : 6;
    const TemporaryFolder cache("fused_cache");
    std::mt19937 rng(7);
    int kills = 0;
    for (int round = 0; kills < wanted && round < 100; round++) {
        std::vector<pid_t> programs;
        for (int k = 0; k < 2; k++)
            programs.push_back(started(std::to_string(100 * round + 10 * k), "8", cache.path));
        while (!programs.empty()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50 + rng() % 300));
            for (const pid_t program : programs) {
                for (const pid_t compiler : compilers_of(program))
                    if (kills < wanted && kill(compiler, SIGKILL) == 0) kills++;
            }
            std::erase_if(programs, [](pid_t program) {
                int status = 0;
                if (waitpid(program, &status, WNOHANG) != program) return false;
                EXPECT_EQ(status, 0) << "results differ, or it crashed";
                return true;
            });
        }
    }
    EXPECT_EQ(kills, wanted);
    const Ended verified = run_program(
        {"env", "XDG_CACHE_HOME=" + cache.path.string(), HALYARD_COMMAND, "cache", "--verify"},
        Keep::output_and_errors);
    EXPECT_EQ(verified.status, 0) << verified.text;
}

TEST(FusedCompilers, AreNotMissed) {
    const Ended run = run_program(
        {"env", "HALYARD_COMMAND=/nowhere/halyard", HALYARD_FUSED_RUN, "1", "2"},
        Keep::output_and_errors);
    EXPECT_EQ(run.status, 0) << run.text;
    EXPECT_NE(run.text.find("enable_graph_kernel does nothing: the command halyard, which compiles "
                            "kernels, isn't /nowhere/halyard"),
              std::string::npos)
        << run.text;
    EXPECT_NE(run.text.find("0 regions, 0 with a kernel, 0 results differ"), std::string::npos)
        << run.text;
}

TEST(FusedCompilers, MayLog) {
    const Ended run = run_program({"env", "HALYARD_THREAD=1", HALYARD_FUSED_RUN, "1", "2"},
                                  Keep::output_and_errors);
    EXPECT_EQ(run.status, 0) << run.text;
    EXPECT_NE(run.text.find("did you mean HALYARD_THREADS?"), std::string::npos) << run.text;
    EXPECT_EQ(run.text.find(" 0 with a kernel"), std::string::npos) << run.text;
}

}  // namespace
}  // namespace halyard
