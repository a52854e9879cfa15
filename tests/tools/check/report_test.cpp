// Tests reports: failures of one kind, skipped checks, and an op's gradients.
#include <gtest/gtest.h>

#include "dsl/all_ops.h"
#include "tools/check/check.h"
#include "tools/check/report_json.h"

namespace halyard::check {
namespace {

TEST(Report, FailuresOfOneKindDifferInNumbersOnly) {
    const std::string kind = failure_kind(
        "y[17] of [2,3] is -1.5e-07, expected nan: 34.25 times the bound of 2 ulps");
    EXPECT_EQ(kind, "y[#] of [#] is #, expected #: # times the bound of # ulps");
    EXPECT_EQ(failure_kind(
                  "y[0] of [4] is inf, expected 3: 1 times the bound of 2 ulps\n      hint: more"),
              kind);
    EXPECT_NE(failure_kind("z[0] of [4] is inf, expected 3: 1 times the bound of 2 ulps"), kind);
    EXPECT_EQ(failure_kind("unknown name 'lane' in f32 of d0 information"),
              "unknown name 'lane' in f32 of d0 information");
}

TEST(Report, AKindBelongsToOneCheck) {
    Report reference, views, all;
    reference.op = views.op = all.op = "op";
    reference.check = "reference";
    views.check = "views";
    reference.fail("'n=1'", "y[0] is 1");
    EXPECT_TRUE(reference.has_kind("y[3] is 7"));
    EXPECT_FALSE(reference.has_kind("z[3] is 7"));
    reference.fail("'n=2'", "y[1] is 2");
    views.fail("'n=1'", "y[0] is 1");
    all.add(reference);
    all.add(views);
    EXPECT_EQ(all.failures, (std::vector<std::string>{"op 'n=1': y[0] is 1", "op 'n=2': y[1] is 2",
                                                      "op 'n=1': y[0] is 1"}));
    EXPECT_EQ(all.kinds, (std::vector<std::string>{"reference: y[#] is #", "reference: y[#] is #",
                                                   "views: y[#] is #"}));
    EXPECT_EQ(json_of(report_of(json_of(all))), json_of(all));
}

TEST(Report, AnOpWithoutAPassedCheckFails) {
    Report r;
    r.op = "op";
    r.skip("no device");
    r.require_a_pass();
    EXPECT_EQ(r.failures, (std::vector<std::string>{"op passed no check: 1 were skipped"}));
    Report good;
    good.pass();
    good.require_a_pass();
    EXPECT_EQ(good.failed, 0);
}

TEST(Families, AreAnOpAndItsGradients) {
    list_kit_ops();
    EXPECT_EQ(family_of("softmax"), (std::vector<std::string>{"softmax", "softmax_dx"}));
    EXPECT_EQ(family_of("softmax_dx"), family_of("softmax"));
    EXPECT_EQ(family_of("argmax"), (std::vector<std::string>{"argmax"}));
    size_t members = 0;
    std::set<std::string> roots;
    for (auto &name : op_table().names())
        if (roots.insert(family_of(name)[0]).second) members += family_of(name).size();
    EXPECT_EQ(members, op_table().names().size()) << "every op is in one family";
}

}  // namespace
}  // namespace halyard::check
