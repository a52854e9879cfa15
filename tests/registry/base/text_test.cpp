// Tests the small functions of registry/base/text.h and registry/base/integer.h.
#include "registry/base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "registry/base/integer.h"

namespace halyard {
namespace {

TEST(Text, Join) {
    EXPECT_EQ(join(std::vector<std::string>{}), "");
    EXPECT_EQ(join(std::vector<std::string>{"c", "h", "w"}), "c, h, w");
    EXPECT_EQ(join(std::set<std::string>{"b", "a"}, " "), "a b");
    EXPECT_EQ(join(std::vector<int>{1, -2}, ","), "1,-2");
}

TEST(Text, OneLine) {
    EXPECT_EQ(one_line("a\nb\tc \n"), "a b c");
    EXPECT_EQ(one_line(""), "");
}

TEST(Integer, CeilDivAndRoundUp) {
    EXPECT_EQ(ceil_div(7, 2), 4);
    EXPECT_EQ(ceil_div(8, 2), 4);
    EXPECT_EQ(ceil_div(0, 2), 0);
    EXPECT_EQ(ceil_div(-7, 2), -3);
    EXPECT_EQ(ceil_div(-8, 2), -4);
    constexpr auto largest = std::numeric_limits<int64_t>::max();
    EXPECT_EQ(ceil_div(largest, 2), largest / 2 + 1);
    EXPECT_EQ(round_up<size_t>(65, 64), 128u);
    EXPECT_EQ(round_up<size_t>(64, 64), 64u);
}

}  // namespace
}  // namespace halyard
