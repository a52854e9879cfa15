// Tests that guard pages detect accesses outside a tensor, on both sides, in any thread, and that
// execution continues.
#include "tools/check/guard.h"

#include <gtest/gtest.h>

#include <thread>

#include "dsl/all_ops.h"

namespace halyard::check {
namespace {

class GuardPages : public testing::Test {
protected:
    void SetUp() override {
        list_kit_ops();
        add = op_table().make("add");
    }
    // Places a[7], b[7] and y[7] between guards, with b in a's memory if `together`.
    void place(Guards &g, bool together = false) {
        const Tensor memory = Tensor::from({1.F, 2.F, 3.F, 4.F, 5.F, 6.F, 7.F, 8.F});
        in = {memory.slice(0, 0, 7), together ? memory.slice(0, 1, 8) : Tensor::full({7}, 9)};
        out = {Tensor::empty({7})};
        g.move(*add, in, out);
    }
    volatile float *at(const Tensor &t) { return t.data<float>(); }

    OpPtr add;
    std::vector<Tensor> in, out;
};

TEST_F(GuardPages, AllowAccessesWithin) {
    for (auto side : {Guards::before, Guards::after}) {
        Guards g(side);
        place(g);
        for (int i = 0; i < 7; i++)
            at(out[0])[i] = at(in[0])[i] + at(in[1])[i];
        EXPECT_EQ(g.finding(), "");
        EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{10, 11, 12, 13, 14, 15, 16}));
    }
}

TEST_F(GuardPages, DetectAReadPastTheEndAndContinue) {
    Guards g(Guards::after);
    place(g);
    std::thread([&] { at(out[0])[0] = at(in[1])[8]; }).join();
    at(out[0])[6] = 5;
    EXPECT_EQ(g.finding(), "it reads past the end of input b (byte 5 after it)");
    EXPECT_EQ(at(out[0])[6], 5);
}

TEST_F(GuardPages, DetectAReadBeforeTheBeginning) {
    Guards g(Guards::before);
    place(g);
    at(out[0])[0] = at(in[0])[-2];
    EXPECT_EQ(g.finding(), "it reads before the beginning of input a (byte 8 before it)");
}

TEST_F(GuardPages, DetectWritesOnBothSides) {
    for (auto side : {Guards::before, Guards::after}) {
        for (int place_outside : {-1, 7}) {
            Guards g(side);
            place(g);
            at(out[0])[place_outside] = 1;
            EXPECT_TRUE(g.finding().starts_with(place_outside < 0
                                                    ? "it writes before the beginning of output y"
                                                    : "it writes past the end of output y"))
                << g.finding();
        }
    }
}

TEST_F(GuardPages, KeepSharedMemory) {
    Guards g(Guards::after);
    place(g, true);
    at(in[1])[0] = 20;
    EXPECT_EQ(at(in[0])[1], 20);
    at(out[0])[0] = at(in[0])[7];  // This is b's last element.
    EXPECT_EQ(g.finding(), "");
    at(out[0])[0] = at(in[0])[8];
    EXPECT_EQ(g.finding(), "it reads past the end of input a and input b (byte 1 after it)");
}

TEST_F(GuardPages, AreProtectedAgainForTheNextCall) {
    for (int turn = 0; turn < 3; turn++) {
        Guards g(Guards::after);
        place(g);
        at(out[0])[0] = at(in[0])[7];
        EXPECT_NE(g.finding(), "") << turn;
    }
}

using GuardPagesDeathTest = GuardPages;
TEST_F(GuardPagesDeathTest, OtherFaultsEndTheProcess) {
    Guards g(Guards::after);
    place(g);
    EXPECT_DEATH(*(volatile int *)16 = 0, "");
}

}  // namespace
}  // namespace halyard::check
