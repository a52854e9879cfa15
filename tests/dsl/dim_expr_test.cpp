#include "dsl/dim_expr.h"

#include <gtest/gtest.h>

#include "registry/op/expr.h"

namespace halyard {
namespace {

const Dim c("c"), h("h"), n("n"), stride("stride"), group("group"), mode("mode"), same("same");

TEST(DimExpr, PrintsTheParenthesesThatItNeeds) {
    EXPECT_EQ(((h - 1) * stride + c % 4 - (n - c)).text(), "(h-1)*stride+c%4-(n-c)");
    EXPECT_EQ((c * (n / h) - -h).text(), "c*(n/h)--h");
    EXPECT_EQ(max((ceil_div(h, max(stride, 1)) - 1) * 2, 0).text(),
              "max((cdiv(h,max(stride,1))-1)*2,0)");
    EXPECT_EQ(((c == 1) == (n < 2)).text(), "(c==1)==(n<2)");
    EXPECT_EQ((select(mode == same, h / 2, select(c > 1, n, 0)) + 1).text(),
              "(mode==same ? h/2 : c>1 ? n : 0)+1");
    EXPECT_EQ((c >= 8 || (n < 4 && (h == 1 || h == 2))).text(), "c>=8||n<4&&(h==1||h==2)");
}

TEST(DimExpr, WordsAreTheOperandsOfAConjunction) {
    EXPECT_EQ((group == 1 && (c >= 32 || n < 4) && h % 2 == 0).words(),
              "group==1 c>=32||n<4 h%2==0");
    EXPECT_EQ((c >= select(n == 1, 2, 3)).words(), "c>=(n==1?2:3)");
    EXPECT_EQ(DimExpr::always().words(), "");
    EXPECT_EQ((DimExpr::always() && c > 1).words(), "c>1");
}

// The text has the value that C++ gives the same operators.
TEST(DimExpr, TextParsesToTheSameValue) {
    const std::map<std::string, int64_t> values = {{"c", 7}, {"h", 3}, {"n", 2}};
    EXPECT_EQ(evaluate<int64_t>((c - (h - n) * 2).text(), values), 7 - (3 - 2) * 2);
    EXPECT_EQ(evaluate<int64_t>((c / (h / n)).text(), values), 7 / (3 / 2));
    EXPECT_EQ(evaluate<int64_t>((-(c - h) % n).text(), values), -(7 - 3) % 2);
    EXPECT_EQ(evaluate<int64_t>((c - -h).text(), values), 10);
}

}  // namespace
}  // namespace halyard
