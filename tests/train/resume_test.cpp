// Trainings that are killed at random times and go on end with the same bits as one that nobody disturbs. HALYARD_KILLS says how many times.
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
    Training(const fs::path &directory, const fs::path &result) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        const std::string program = HALYARD_RESUME_RUN, arguments[] = {directory.string(), result.string()};
        char *argv[] = {(char *)program.c_str(), (char *)arguments[0].c_str(), (char *)arguments[1].c_str(), nullptr};
        if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ) != 0) throw std::runtime_error("can't run " + program);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        char began;
        began_ = read(ends[0], &began, 1) == 1;  // or it ended
        close(ends[0]);
    }
    // Ends it after that time, unless it has ended itself. True: it was killed.
    bool kill_after(Seconds time) {
        std::this_thread::sleep_for(time);
        kill(pid_, SIGKILL);
        return !ended_well();
    }
    bool ended_well() {
        int status = 0;
        waitpid(pid_, &status, 0);
        EXPECT_TRUE(began_);
        EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0) << status;
        return !WIFSIGNALED(status);
    }

private:
    pid_t pid_ = 0;
    bool began_ = false;
};

TEST(Resume, KilledAtRandomItEndsWithTheSameBits) {
    const char *given = std::getenv("HALYARD_KILLS");
    const int wanted = given ? std::atoi(given) : 5;
    const fs::path folder = fs::temp_directory_path() / ("halyard_resume_" + std::to_string(getpid()));
    fs::create_directories(folder);
    Training whole(folder / "whole", folder / "expected");
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(whole.ended_well());
    const Seconds once = std::chrono::steady_clock::now() - begin;
    const std::string expected = bytes_of(folder / "expected");
    ASSERT_FALSE(expected.empty());

    std::mt19937 random(std::random_device{}());
    // On average five kills to a training.
    std::uniform_real_distribution<double> time(0, once.count() / 2.5);
    int kills = 0, trainings = 0, lives = 0;
    while (kills < wanted && lives < 20 * wanted) {
        const fs::path directory = folder / ("killed" + std::to_string(trainings)), result = folder / ("result" + std::to_string(trainings));
        bool ended = false;
        for (; !ended && kills < wanted && lives < 20 * wanted; lives++) {
            ended = !Training(directory, result).kill_after(Seconds(time(random)));
            kills += !ended;
        }
        if (!ended) { EXPECT_TRUE(Training(directory, result).ended_well()); }
        EXPECT_TRUE(bytes_of(result) == expected) << "training " << trainings << " after " << kills << " kills";
        fs::remove_all(directory), fs::remove(result);
        trainings++;
    }
    EXPECT_EQ(kills, wanted) << "the training ends before it can be killed";
    RecordProperty("trainings", trainings);
    fs::remove_all(folder);
}

}  // namespace
