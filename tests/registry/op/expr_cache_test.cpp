#include "registry/op/expr_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

TEST(ExprCache, ParsesATextOnceInEachThread) {
    const std::shared_ptr<const ParsedExpr> first = parsed("n/2 + cdiv(n,3)", "one");
    EXPECT_EQ(parsed("n/2 + cdiv(n,3)", "another"), first);
    EXPECT_NE(parsed("n/2+cdiv(n,3)"), first);
    std::shared_ptr<const ParsedExpr> elsewhere;
    std::thread([&] { elsewhere = parsed("n/2 + cdiv(n,3)"); }).join();
    EXPECT_NE(elsewhere, first);
    EXPECT_EQ(elsewhere->text(), first->text());
    EXPECT_EQ(elsewhere->names(), first->names());
}

TEST(ExprCache, NamesTheOpThatAsks) {
    const std::string what = "bad expression 'n+' at 2: expected a name or a number";
    expect_error<AttrError>("[first] " + what, [] { (void)parsed("n+", "first"); });
    expect_error<AttrError>("[second] " + what, [] { (void)parsed("n+", "second"); });
}

TEST(ExprCache, HasALimit) {
    for (int k = 0; k < 10'000; k++)
        EXPECT_EQ(parsed("n+" + std::to_string(k))->names().size(), 1u);
    EXPECT_NE(parsed("n*10001"), parsed("n*10001"));
}

// The objects of a thread are destroyed in the reverse order of their construction, so that this
// one's destructor runs after the kept expressions are gone.
struct ParsesAtTheEnd {
    bool *worked;
    ~ParsesAtTheEnd() { *worked = parsed("n+1")->names().size() == 1; }
};

TEST(ExprCache, WorksWhileAThreadEnds) {
    bool worked = false;
    std::thread([&] {
        thread_local ParsesAtTheEnd at_the_end{&worked};
        EXPECT_EQ(at_the_end.worked, &worked);
        (void)parsed("n+1");
    }).join();
    EXPECT_TRUE(worked);
}

}  // namespace
}  // namespace halyard
