// Tests processes that fork, exit while threads call ops, or may start only few threads.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "primitives/ops/binary.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"
#include "primitives/random.h"
#include "registry/base/parallel.h"

namespace halyard {
namespace {

// Calls everything that takes locks: the pool, random numbers, loops on several threads.
double some_calls() {
    const Tensor x = Tensor::full({64, 512}, 0.5);
    const Tensor y = F::matmul(x, Tensor::ones({512, 64}));
    return F::reduce_sum(
               F::add(y, F::relu(Tensor::ones({300, 300})).slice(0, 0, 64).slice(1, 0, 64)))
        .item();
}
constexpr double some_sum = 64 * 64 * 257.0;

class Callers {
public:
    explicit Callers(int n) {
        for (int i = 0; i < n; i++) {
            threads_.emplace_back([this] {
                while (!stop_) {
                    some_calls();
                    get_rng_state();
                    calls_++;
                }
            });
        }
        while (calls_ < 2 * n)
            std::this_thread::yield();
    }
    ~Callers() {
        stop_ = true;
        for (auto &t : threads_)
            t.join();
    }

private:
    std::atomic<bool> stop_ = false;
    std::atomic<int> calls_ = 0;
    std::vector<std::thread> threads_;
};

// Sanitizers have locks of their own and don't support forks with threads.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

TEST(Process, ForkedChildCanCallOps) {
    set_threads(4);
    const Callers others(4);
    for (int round = 0; round < 20; round++) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(60);
            bool right = threads() == 1;
            for (int i = 0; i < 5; i++)
                right = right && some_calls() == some_sum;
            set_rng_state(get_rng_state());
            _exit(right ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << "round " << round;
    }
    set_threads(0);
}

TEST(ProcessDeathTest, ExitsDuringCalls) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto end = [] {
        for (int i = 0; i < 4; i++) {
            std::thread([] {
                while (true)
                    some_calls();
            }).detach();
        }
        some_calls();
        std::exit(7);
    };
    for (int round = 0; round < 5; round++)
        EXPECT_EXIT(end(), testing::ExitedWithCode(7), "");
}

// Returns the sum with a limit of `processes` for this user, threads included. An administrator's
// are not counted, so the test runs as nobody.
double sum_among(rlim_t processes) {
    const rlimit limit = {processes, processes};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0 || (getuid() == 0 && setuid(65534) != 0)) std::exit(2);
    set_threads(64);
    return some_calls();
}

TEST(ProcessDeathTest, WorksWithFewThreads) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const rlim_t processes : {1, 2, 4, 9}) {
        EXPECT_EXIT(std::exit(sum_among(processes) == some_sum && threads() < 64 ? 0 : 1),
                    testing::ExitedWithCode(0),
                    "64 threads are wanted, the system allows [0-9]+: loops run on these")
            << processes;
    }
}

#endif

}  // namespace
}  // namespace halyard
