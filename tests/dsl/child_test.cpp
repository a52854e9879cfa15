// Tests child processes: their results, their errors, and how they die.
#include "dsl/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "registry/base/error.h"

namespace halyard {
namespace {

std::string error_of(const std::function<std::string()> &work, unsigned seconds = 0) {
    try {
        run_in_child("op", work, seconds);
    } catch (const std::exception &e) {
        return e.what();
    }
    return "";
}

TEST(Child, ReturnsText) {
    EXPECT_EQ(run_in_child("op", [] { return std::string(); }), "");
    const std::string large(3 << 20, 'x');  // larger than a pipe's buffer
    EXPECT_EQ(run_in_child("op", [&] { return large; }), large);
}

TEST(Child, DoesNotChangeItsParent) {
    int value = 1;
    run_in_child("op", [&] { return std::to_string(value = 2); });
    EXPECT_EQ(value, 1);
}

TEST(Child, PropagatesErrors) {
    EXPECT_EQ(error_of([]() -> std::string { throw DTypeError("softmax", "no such type"); }),
              "[softmax] no such type");
}

TEST(Child, CrashDoesNotEndTheParent) {
    const std::string aborted = error_of([]() -> std::string {
        std::fputs("LLVM ERROR: cannot select", stderr);
        std::abort();
    });
    EXPECT_EQ(aborted,
              "[op] the code generator died (signal 6, Aborted): LLVM ERROR: cannot select");
    const std::string left = error_of([]() -> std::string { _exit(3); });
    EXPECT_EQ(left, "[op] the code generator died (exit 3): ");
}

TEST(Child, StopsAtATimeLimit) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(error_of(
                  []() -> std::string {
                      for (;;)
                          pause();
                  },
                  1),
              "[op] the code generator took more than 1 s");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace halyard
