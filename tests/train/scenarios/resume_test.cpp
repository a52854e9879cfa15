// Kills trainings at random times: resumed, they end with the same bits as an uninterrupted one.
// HALYARD_KILLS is the number of kills; without it ResNet-18 is skipped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

extern char **environ;

namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

std::string bytes_of(const fs::path &file) {
    std::stringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

// One process of the training.
class Training {
public:
    explicit Training(std::vector<std::string> arguments) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        arguments.insert(arguments.begin(), HALYARD_RESUME_RUN);
        std::vector<char *> argv;
        for (std::string &a : arguments)
            argv.push_back(a.data());
        argv.push_back(nullptr);
        if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0)
            throw std::runtime_error("can't run " + arguments[0]);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        char began;
        began_ = read(ends[0], &began, 1) == 1;  // Otherwise it has ended.
        close(ends[0]);
    }
    // Kills it after that time, unless it has ended itself. Returns true if it was killed.
    bool kill_after(Seconds time) {
        std::this_thread::sleep_for(time);
        kill(pid_, SIGKILL);
        return !ended_well();
    }
    bool ended_well() {
        int status = 0;
        waitpid(pid_, &status, 0);
        EXPECT_TRUE(began_);
        EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0)
            << status;
        return !WIFSIGNALED(status);
    }

private:
    pid_t pid_ = 0;
    bool began_ = false;
};

// Runs the training with these arguments and kills it that many times. If it ends before, another
// one is started.
void kill_at_random(int wanted, const std::vector<std::string> &more = {}) {
    const fs::path folder = fs::temp_directory_path() /
                            ("halyard_resume_" + std::to_string(getpid()));
    fs::create_directories(folder);
    const auto training = [&](const fs::path &directory, const fs::path &result) {
        std::vector<std::string> arguments{directory, result};
        for (const std::string &a : more)
            arguments.push_back(a == "DATA" ? (folder / "data").string() : a);
        return Training(arguments);
    };
    Training whole = training(folder / "whole", folder / "expected");
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(whole.ended_well());
    const Seconds once = std::chrono::steady_clock::now() - begin;
    const std::string expected = bytes_of(folder / "expected");
    ASSERT_FALSE(expected.empty());
    fs::remove_all(folder / "whole");

    std::mt19937 random(std::random_device{}());
    // On average a training is killed five times.
    std::uniform_real_distribution<double> time(0, once.count() / 2.5);
    int kills = 0, trainings = 0, lives = 0;
    while (kills < wanted && lives < 20 * wanted) {
        const fs::path directory = folder / ("killed" + std::to_string(trainings));
        const fs::path result = folder / ("result" + std::to_string(trainings));
        bool ended = false;
        for (; !ended && kills < wanted && lives < 20 * wanted; lives++) {
            ended = !training(directory, result).kill_after(Seconds(time(random)));
            kills += !ended;
        }
        if (!ended) {
            EXPECT_TRUE(training(directory, result).ended_well());
        }
        EXPECT_TRUE(bytes_of(result) == expected)
            << "training " << trainings << " after " << kills << " kills";
        fs::remove_all(directory);
        fs::remove(result);
        trainings++;
    }
    EXPECT_EQ(kills, wanted) << "the training ends before it can be killed";
    fs::remove_all(folder);
}

TEST(Resume, LeNet5EndsWithTheSameBits) {
    const char *given = std::getenv("HALYARD_KILLS");
    kill_at_random(given ? std::atoi(given) : 5);
}

TEST(Resume, ResNet18EndsWithTheSameBits) {
    const char *given = std::getenv("HALYARD_KILLS");
    if (!given) GTEST_SKIP() << "HALYARD_KILLS isn't set";
    kill_at_random(std::atoi(given), {"resnet18", "DATA"});
}

}  // namespace
