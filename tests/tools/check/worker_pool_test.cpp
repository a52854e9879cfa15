// Tests jobs in child processes: results come in order, and a job that dies affects no other.
#include "tools/check/worker_pool.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

namespace halyard::check {
namespace {

std::vector<std::string> run(size_t jobs, size_t at_once,
                             const std::function<std::string(size_t)> &body) {
    std::vector<std::string> all;
    const auto note = [&](const std::string &how, size_t i, const std::string &text) {
        EXPECT_EQ(i, all.size());
        all.push_back(how + text);
    };
    in_workers(
        jobs, at_once, body, [&](size_t i, const std::string &text) { note("", i, text); },
        [&](size_t i, const std::string &how) { note("it ", i, how); });
    return all;
}

TEST(WorkerPool, ReturnsResultsInOrder) {
    const auto later_is_faster = [](size_t i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(60 - 20 * i));
        return std::string(i * 100000, 'x');
    };
    EXPECT_EQ(run(3, 3, later_is_faster),
              (std::vector<std::string>{"", std::string(100000, 'x'), std::string(200000, 'x')}));
}

TEST(WorkerPool, CrashAffectsOneJob) {
    const auto bad = [](size_t i) -> std::string {
        if (i == 1) std::raise(SIGKILL);
        if (i == 2) throw std::runtime_error("no");
        if (i == 3) {
            std::fputs("heap is full of holes\n", stderr);
            std::abort();
        }
        return "fine";
    };
    EXPECT_EQ(run(5, 2, bad),
              (std::vector<std::string>{"fine", "it died of signal 9", "it threw no",
                                        "it died of signal 6: heap is full of holes", "fine"}));
}

}  // namespace
}  // namespace halyard::check
