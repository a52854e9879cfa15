#include "bench/harness/case.h"

#include <gtest/gtest.h>

#include "dsl/op.h"
#include "primitives/library.h"
#include "tests/registry/expect_error.h"

namespace halyard::check {
namespace {

// y[i] = x[i + 1] - x[i]: one element less than x has.
struct Differences : Op {
    explicit Differences(const std::string &name, bool has_condition) : Op(name, "x[c] -> y[m]") {
        let("m", "c-1");
        if (has_condition) conditions = {"c>=1"};
        samples = {"c=3"};
    }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override {}
    void reference(Problem &) const override {}
};

TEST(Case, NegativeExtentIsRejectedByTheCondition) {
    const Differences guarded("differences_with_condition", true);
    const Differences unguarded("differences", false);
    OpFile file;
    file.ops = {guarded, unguarded};
    library().add({&file});
    EXPECT_EQ(Case(guarded, "c=3", "f32", 1).problem("y").shape, Shape{2});
    expect_error<ShapeError>("[differences_with_condition] needs c>=1: c is 0",
                             [&] { Case(guarded, "c=0", "f32", 1); });
    expect_error<ShapeError>("[differences] y.m is -1, expected 0 or more with c=0",
                             [&] { Case(unguarded, "c=0", "f32", 1); });
}

}  // namespace
}  // namespace halyard::check
