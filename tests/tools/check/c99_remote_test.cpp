// A program of calls in an emulator: results, accesses outside and programs that end early. Skipped
// without a cross compiler.
#include "tools/check/c99_remote.h"

#include <gmock/gmock.h>

#include "registry/base/error.h"

namespace halyard::check {
namespace {

using testing::HasSubstr;

const std::string source = R"(#include <stdint.h>
#include <stdlib.h>
void entry_twice(void **t) { *(float *)t[1] = 2 * *(float *)t[0]; }
void entry_outside(void **t) { ((float *)t[1])[1] = 1; }
void entry_ends(void **t) { (void)t; exit(1); }
)";

c99::CallSource call(const std::string &name) {
    c99::CallSource c;
    c.name = name;
    c.parameters = {{"x", DType::f32, Shape{1}}, {"y", DType::f32, Shape{1}, true}};
    return c;
}

Tensor number(float x) {
    const Tensor t = Tensor::empty(Shape{1}, DType::f32);
    *static_cast<float *>(t.raw()) = x;
    return t;
}

class Remote : public testing::TestWithParam<c99::Target> {};

TEST_P(Remote, RunsEachCase) {
    try {
        c99::tools_of(GetParam(), "check");
    } catch (const Error &e) {
        GTEST_SKIP() << e.what();
    }
    const RemoteCalls calls("op", GetParam(), source,
                            {call("twice"), call("outside"), call("ends")});
    const std::vector<RemoteCase> cases = {{0, {number(1)}, {number(0)}},
                                           {1, {number(1)}, {number(0)}},
                                           {2, {number(1)}, {number(0)}},
                                           {0, {number(3)}, {number(0)}}};
    const auto outcomes = calls.run(cases);
    ASSERT_EQ(outcomes.size(), 4u);
    EXPECT_EQ(outcomes[0].error, "");
    EXPECT_EQ(*static_cast<float *>(cases[0].out[0].raw()), 2);
    EXPECT_EQ(outcomes[1].error, "it writes before or behind tensor 1 of the call");
    EXPECT_FALSE(outcomes[2].has_ended);
    EXPECT_THAT(outcomes[2].error, HasSubstr("the program ends early"));
    EXPECT_TRUE(outcomes[3].has_ended);
    EXPECT_EQ(*static_cast<float *>(cases[3].out[0].raw()), 6);
}

INSTANTIATE_TEST_SUITE_P(All, Remote,
                         testing::Values(c99::Target::arm64, c99::Target::arm32a,
                                         c99::Target::arm32m),
                         [](const auto &target) { return c99::name_of(target.param); });

}  // namespace
}  // namespace halyard::check
