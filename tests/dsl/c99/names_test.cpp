#include "dsl/c99/names.h"

#include <gtest/gtest.h>

#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

TEST(Names, AreThoseOfTheAuthor) {
    Names names;
    EXPECT_EQ(names.declare("y.s0.c"), "c");
    EXPECT_EQ(names.declare("total$3"), "total");
    EXPECT_EQ(names.declare("sum.s0.k.rebased"), "k");
    EXPECT_EQ(names.declare("sums$2.1"), "sums1");
    EXPECT_EQ(names.declare("y.s1.r10$x"), "r");         // Halide numbers a domain without a name
    EXPECT_EQ(names.declare("dots_11_intm$2"), "dots");  // partial sums
    EXPECT_EQ(names.of("total$3"), "total");
}

TEST(Names, DifferWithinABlock) {
    Names names;
    EXPECT_EQ(names.declare("a.s0.n"), "n");
    names.open_block();
    EXPECT_EQ(names.declare("b.s0.n"), "n2");
    EXPECT_EQ(names.declare("c.s0.n"), "n3");
    names.close_block();
    EXPECT_FALSE(names.has("b.s0.n"));
    EXPECT_EQ(names.declare("d.s0.n"), "n2");
    EXPECT_EQ(names.declare("p.d1"), "d1");
    EXPECT_EQ(names.declare("q.d1"), "d1_2");
}

TEST(Names, OfAnEnclosingBlockComeBack) {
    Names names;
    names.declare("t1");
    names.open_block();
    EXPECT_EQ(names.declare("t1"), "t2");
    EXPECT_EQ(names.of("t1"), "t2");
    names.close_block();
    EXPECT_EQ(names.of("t1"), "t");
}

TEST(Names, AreNotWordsOfC) {
    Names names;
    for (const char *word : {"float", "exp", "expf", "double", "arena", "isnan", "hy_maxf"}) {
        const std::string name = names.declare("x." + std::string(word), word);
        EXPECT_NE(name, word);
        EXPECT_TRUE(name.starts_with(word)) << name;
    }
}

TEST(Names, ThatWereNotDeclaredAreAnError) {
    Names names;
    EXPECT_THROW(names.of("x"), Error);
}

}  // namespace
}  // namespace halyard::c99
