// Tests jobs in child processes: their results, their errors, and how they die.
#include "registry/base/process_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "registry/base/error.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Send = ProcessPool::Send;

std::vector<JobResult> results_of(const ProcessPool &pool, size_t jobs,
                                  const ProcessPool::Job &job) {
    std::vector<JobResult> all(jobs);
    pool.run(jobs, job, [&](size_t i, const JobResult &r) { all[i] = r; });
    return all;
}

void spin() {
    for (volatile int turns = 0;;)
        turns = turns + 1;
}

TEST(ProcessPool, ReturnsResultsInOrder) {
    const auto later_is_faster = [](size_t i, const Send &send) {
        std::this_thread::sleep_for(std::chrono::milliseconds(60 - 20 * i));
        send(std::string(i * 100000, 'x'));  // more than a pipe holds
    };
    std::vector<size_t> sizes;
    ProcessPool(3).run_in_order(3, later_is_faster, [&](size_t i, const JobResult &r) {
        EXPECT_EQ(i, sizes.size());
        EXPECT_TRUE(r.has_returned());
        sizes.push_back(r.text().size());
    });
    EXPECT_EQ(sizes, (std::vector<size_t>{0, 100000, 200000}));
}

TEST(ProcessPool, KeepsMessagesOfAJobThatDies) {
    const auto job = [](size_t i, const Send &send) {
        send("job " + std::to_string(i));
        send(std::string("a\0\nb", 4));
        if (i == 1) std::raise(SIGKILL);
        if (i == 2) throw ShapeError("test", "no");
        if (i == 3) {
            std::fputs("heap is full of holes\n", stderr);
            std::abort();
        }
        if (i == 4) std::exit(0);
        if (i == 5) throw 7;
        if (i == 6) throw std::runtime_error("");
    };
    const std::vector<JobResult> all = results_of(ProcessPool(2), 7, job);
    const std::vector<std::string> descriptions = {
        "",
        "died (signal 9, Killed)",
        "threw halyard::ShapeError: [test] no",
        "died (signal 6, Aborted): heap is full of holes",
        "died (exit 0)",
        "threw int without a message",
        "threw std::runtime_error without a message"};
    for (size_t i = 0; i < all.size(); i++) {
        EXPECT_EQ(all[i].description(), descriptions[i]);
        EXPECT_EQ(all[i].messages,
                  (std::vector<std::string>{"job " + std::to_string(i), std::string("a\0\nb", 4)}));
    }
    EXPECT_EQ(all[1].signal, SIGKILL);
    EXPECT_EQ(all[2].error, "[test] no");
}

TEST(ProcessPool, StopsAtATimeLimit) {
    const std::vector<JobResult> sleeping = results_of(
        ProcessPool(2, {0.2, 0}), 2, [](size_t i, const Send &) { i == 0 ? pause() : 0; });
    EXPECT_EQ(sleeping[0].description(), "took more than 0.2 s");
    EXPECT_EQ(sleeping[0].ending, JobResult::Ending::timed_out);
    EXPECT_TRUE(sleeping[1].has_returned());
    const std::vector<JobResult> busy = results_of(ProcessPool(1, {600, 1}), 1,
                                                   [](size_t, const Send &) { spin(); });
    EXPECT_EQ(busy[0].description(), "took more than 1 s of processor time");
    EXPECT_EQ(busy[0].ending, JobResult::Ending::timed_out);
}

// A job's own processes would keep its pipe open.
TEST(ProcessPool, KillsTheProcessesOfALateJob) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<JobResult> all = results_of(ProcessPool(1, {0.2, 0}), 1,
                                                  [](size_t, const Send &) {
                                                      fork();
                                                      sleep(600);
                                                  });
    EXPECT_EQ(all[0].description(), "took more than 0.2 s");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(ProcessPool, LeavesOtherChildrenAlone) {
    const pid_t other = fork();
    if (other == 0) _exit(7);
    siginfo_t ended;
    ASSERT_EQ(waitid(P_PID, id_t(other), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(results_of(ProcessPool(2), 3, [](size_t, const Send &) {})[2].has_returned());
    int status = 0;
    EXPECT_EQ(waitpid(other, &status, 0), other) << "the pool waited for another's child";
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(ProcessPool, EndsWithAnExceptionOfDone) {
    const auto job = [](size_t i, const Send &) {
        if (i == 1) sleep(600);
    };
    const auto done = [](size_t, const JobResult &) { throw Error("test", "enough"); };
    EXPECT_THROW(ProcessPool(2).run(4, job, done), Error);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
    expect_error<AttrError>("[process] 0 jobs at once, expected at least 1",
                            [] { ProcessPool(0); });
}

std::string error_of(const std::function<std::string()> &work, double seconds = 0) {
    try {
        run_in_child("op", work, seconds);
    } catch (const std::exception &e) {
        return e.what();
    }
    return "";
}

TEST(RunInChild, ReturnsText) {
    EXPECT_EQ(run_in_child("op", [] { return std::string(); }), "");
    const std::string large(3 << 20, 'x');
    EXPECT_EQ(run_in_child("op", [&] { return large; }), large);
}

TEST(RunInChild, DoesNotChangeItsParent) {
    int value = 1;
    run_in_child("op", [&] { return std::to_string(value = 2); });
    EXPECT_EQ(value, 1);
}

TEST(RunInChild, PropagatesErrors) {
    EXPECT_EQ(error_of([]() -> std::string { throw DTypeError("softmax", "no such type"); }),
              "[softmax] no such type");
    EXPECT_EQ(error_of([]() -> std::string {
                  std::fputs("LLVM ERROR: cannot select", stderr);
                  std::abort();
              }),
              "[op] the code generator died (signal 6, Aborted): LLVM ERROR: cannot select");
    EXPECT_EQ(error_of([]() -> std::string { _exit(3); }), "[op] the code generator died (exit 3)");
    EXPECT_EQ(error_of(
                  []() -> std::string {
                      for (;;)
                          pause();
                  },
                  0.5),
              "[op] the code generator took more than 0.5 s");
}

}  // namespace
}  // namespace halyard
