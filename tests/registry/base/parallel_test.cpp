#include "registry/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "HalideRuntime.h"
#include "registry/base/error.h"
#include "registry/base/runtime.h"
#include "registry/tensor/memory.h"
#include "tests/registry/expect_error.h"
#include "tests/registry/threads.h"

namespace halyard {
namespace {

template<class F> int par_for(int min, int size, F f) {
    return halide_do_par_for(
        nullptr, [](void *, int i, uint8_t *closure) { return (*(F *)closure)(i); }, min, size,
        (uint8_t *)&f);
}

TEST(Parallel, RunsEveryIndexOnce) {
    for (const int n : {1, 2, 3, 8}) {
        const Threads limit(n);
        EXPECT_EQ(threads(), n);
        std::vector<std::atomic<int>> seen(1000);
        parallel_for(-500, 500, [&](int64_t i) { seen[size_t(i + 500)]++; });
        EXPECT_EQ(par_for(-500, 1000,
                          [&](int i) {
                              seen[size_t(i + 500)]++;
                              return 0;
                          }),
                  0);
        for (auto &s : seen)
            EXPECT_EQ(s, 2);
    }
    parallel_for(5, 5, [](int64_t) { FAIL(); });
    parallel_for(5, 3, [](int64_t) { FAIL(); });
    EXPECT_EQ(par_for(0, 0, [](int) { return 1; }), 0);
}

TEST(Parallel, OneBodyRunsInTheCaller) {
    const auto caller = std::this_thread::get_id();
    parallel_for(7, 8, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
    const Threads limit(1);
    int last = -1;  // There is no race: all bodies run in this thread, in order.
    const int status = par_for(0, 100, [&](int i) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        EXPECT_EQ(i, last + 1);
        last = i;
        return 0;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(last, 99);
}

// Each of n bodies waits until all have started, so the loop ends only with n threads, whatever the
// number of cores.
TEST(Parallel, UsesAllRequestedWorkers) {
    for (const int n : {2, 3, 8}) {
        const Threads limit(n);
        std::atomic<int> started{0}, missing{0};
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        parallel_for(0, n, [&](int64_t) {
            started++;
            while (started < n && std::chrono::steady_clock::now() < give_up)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (started < n) missing++;
        });
        EXPECT_EQ(missing, 0) << n << " threads";
    }
}

TEST(Parallel, UsesNoMoreThanTheRequestedWorkers) {
    const Threads limit(3);
    std::atomic<int> inside{0}, max_inside{0};
    parallel_for(0, 60, [&](int64_t) {
        const int now = ++inside;
        for (int m = max_inside; now > m && !max_inside.compare_exchange_weak(m, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        inside--;
    });
    EXPECT_LE(max_inside, 3);
}

TEST(Parallel, ExceptionsReachTheCaller) {
    for (const int n : {1, 4}) {
        const Threads limit(n);
        EXPECT_THROW(parallel_for(0, 100,
                                  [](int64_t i) {
                                      if (i == 37) throw std::out_of_range("37");
                                  }),
                     std::out_of_range);
    }
}

TEST(Parallel, NestedLoops) {
    const Threads limit(4);
    std::atomic<int> sum{0};
    EXPECT_EQ(par_for(0, 16,
                      [&](int i) {
                          return par_for(0, 16, [&](int j) {
                              sum += i * j;
                              return 0;
                          });
                      }),
              0);
    EXPECT_EQ(sum, 120 * 120);
}

TEST(Parallel, WorkersErrorReachesTheCaller) {
    for (const int n : {1, 2, 8}) {
        const Threads limit(n);
        clear_kernel_error();
        const int status = par_for(0, 64, [](int i) {
            if (i % 8 != 5) return 0;
            halide_error(nullptr, ("task " + std::to_string(i)).c_str());
            return -i;
        });
        EXPECT_LT(status, 0);
        EXPECT_EQ(last_kernel_error(), "task " + std::to_string(-status))
            << "the text belongs to the status";
    }
    clear_kernel_error();
    EXPECT_STREQ(last_kernel_error(), "");
    const int nested = par_for(0, 4, [](int i) {
        return par_for(
            0, 4, [i](int j) { return i == 2 && j == 3 ? halide_error(nullptr, "deep"), -7 : 0; });
    });
    EXPECT_EQ(nested, -7);
    EXPECT_STREQ(last_kernel_error(), "deep");
}

TEST(Parallel, TruncatesLongMessages) {
    halide_error(nullptr, std::string(5000, 'x').c_str());
    EXPECT_EQ(last_kernel_error(), std::string(1023, 'x'));
    std::thread([] { EXPECT_STREQ(last_kernel_error(), ""); }).join();
}

TEST(Parallel, MessagesHaveNoNumberedNames) {
    halide_error(nullptr, "Output buffer y$313 is accessed at -15, price 3$, z$a$4");
    EXPECT_STREQ(last_kernel_error(), "Output buffer y is accessed at -15, price 3$, z$a");
}

TEST(Parallel, HalideAllocatesFromOurPool) {
    const int64_t live = memory::stats().live_blocks;
    auto *p = (unsigned char *)halide_malloc(nullptr, 100);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(uintptr_t(p) % 64, 0u);
    // HalideRuntime.h promises kernels that this range may be accessed.
    for (int i = -8; i < 128 + 8; i++)
        p[i] = (unsigned char)i;
    EXPECT_EQ(memory::stats().live_blocks, live + 1);
    halide_free(nullptr, p);
    halide_free(nullptr, nullptr);
    EXPECT_EQ(memory::stats().live_blocks, live);
    EXPECT_EQ(halide_malloc(nullptr, SIZE_MAX), nullptr);
    EXPECT_EQ(halide_malloc(nullptr, size_t{1} << 50), nullptr);
}

TEST(Parallel, RejectsNumbersOutOfRange) {
    expect_error<AttrError>("[parallel] threads is -1, expected 0 to 1024",
                            [] { set_threads(-1); });
    EXPECT_THROW(set_threads(1025), AttrError);
    EXPECT_GE(threads(), 1);
}

// Returns the exit status of a fresh process with this HALYARD_THREADS.
int start_with(const char *value) {
    setenv("HALYARD_THREADS", value, 1);
    try {
        return threads();
    } catch (const AttrError &e) {
        return std::string(e.what()) == "[parallel] HALYARD_THREADS is '" + std::string(value) +
                                            "', expected a whole number from 0 to 1024"
                   ? 111
                   : 112;
    }
}

int bodies_elsewhere() {  // Counts the loop bodies that another thread runs.
    const auto caller = std::this_thread::get_id();
    std::atomic<int> count{0};
    const auto body = [&] {
        // Gives another thread time to start.
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        count += std::this_thread::get_id() != caller;
    };
    parallel_for(0, 100, [&](int64_t) { body(); });
    par_for(0, 100, [&](int) {
        body();
        return 0;
    });
    return count;
}

TEST(Parallel, LimitOfOneUsesOnlyTheCaller) {
    {
        const Threads limit(1);
        EXPECT_EQ(bodies_elsewhere(), 0);
    }
    const Threads limit(4);
    EXPECT_GT(bodies_elsewhere(), 0);
}

TEST(ParallelDeathTest, EnvironmentSetsTheInitialNumber) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(std::exit(start_with("3")), testing::ExitedWithCode(3), "");
    for (const char *bad : {"abc", "-1", "2x", "99999999999", "1025"})
        EXPECT_EXIT(std::exit(start_with(bad)), testing::ExitedWithCode(111), "") << bad;
    EXPECT_EXIT(std::exit(start_with("1") == 1 && bodies_elsewhere() == 0 ? 7 : 8),
                testing::ExitedWithCode(7), "");
    EXPECT_EXIT(std::exit((setenv("HALYARD_THREADS", "many", 1),
                           par_for(0, 2, [](int) { return 0; }) == -1 &&
                                   std::string(last_kernel_error()).starts_with("[parallel]")
                               ? 5
                               : 6)),
                testing::ExitedWithCode(5), "");
}

}  // namespace
}  // namespace halyard
