// Tests that the AddressSanitizer build detects faults in kernels: a kernel that is called with an
// extent beyond the tensor's memory dies.
#include <gtest/gtest.h>

#include "primitives/library.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"

namespace halyard {
namespace {

constexpr int64_t claimed = 4096, true_length = 1000;

// Calls softmax with a plan for `claimed` rows, and tensors of these lengths.
void softmax(int64_t x_length, int64_t y_length) {
    const RegisteredOp &op = library().at("softmax");
    const Attrs attrs(op.record);
    const OperandMeta meta = meta_of(Tensor::zeros({claimed, 8}));
    const Plan plan = make_plan(op, {&meta, 1}, attrs);
    const Tensor x = Tensor::zeros({x_length, 8});
    const Tensor y = Tensor::zeros({y_length, 8});
    run_plan(plan, {&x, 1}, attrs, {&y, 1});
}

// The report's first frame is the kernel itself, not a copy around it.
std::string in_the_kernel(const std::string &access) {
    return "heap-buffer-overflow(.|\n)*" + access + " of size(.|\n)*#0 [^\n]* in hy_softmax_f32";
}

class BoundsDeathTest : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(BoundsDeathTest, DetectsAReadPastAnInput) {
    EXPECT_DEATH(softmax(true_length, claimed), in_the_kernel("READ"));
}

TEST_F(BoundsDeathTest, DetectsAWritePastAnOutput) {
    EXPECT_DEATH(softmax(claimed, true_length), in_the_kernel("WRITE"));
}

TEST_F(BoundsDeathTest, TrueLengthsPass) {
    softmax(claimed, claimed);
}

}  // namespace
}  // namespace halyard
