// Tests that the ThreadSanitizer build detects races in kernels and loops: two writers of one
// element die.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "primitives/library.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"

extern "C" const char *__tsan_default_options();
const char *__tsan_default_options() {
    return "halt_on_error=1";
}

namespace halyard {
namespace {

// Two threads, both past their first call when the race begins, write `outputs` results of softmax.
void softmax_twice(int outputs) {
    const RegisteredOp &op = library().at("softmax");
    const Attrs attrs(op.record);
    const Tensor x = Tensor::zeros({64, 8});
    const OperandMeta meta = meta_of(x);
    const Plan plan = make_plan(op, {&meta, 1}, attrs);
    const Tensor y[] = {Tensor::zeros({64, 8}), Tensor::zeros({64, 8})};
    const Tensor other = Tensor::zeros({64, 8});
    set_threads(1);
    std::atomic<int> ready{0};
    const auto work = [&](int t) {
        run_plan(plan, {&x, 1}, attrs, {&y[t], 1});
        ready++;
        while (ready < 2)
            std::this_thread::yield();
        run_plan(plan, {&x, 1}, attrs, {outputs == 1 ? &other : &y[t], 1});
    };
    std::thread a(work, 0);
    std::thread b(work, 1);
    a.join();
    b.join();
}

void count_to(int n) {
    set_threads(2);
    int sum = 0;
    parallel_for(0, n, [&](int64_t) { sum++; });
    EXPECT_EQ(sum, n);
}

class RaceDeathTest : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RaceDeathTest, DetectsTwoKernelsThatWriteOneTensor) {
    EXPECT_DEATH(softmax_twice(1),
                 "data race(.|\n)*Write of size(.|\n)*#0 [^\n]*hy_softmax_f32(.|\n)*Previous write "
                 "of size(.|\n)*#0 [^\n]*hy_softmax_f32");
}

TEST_F(RaceDeathTest, DetectsTwoLoopBodiesThatWriteOneVariable) {
    EXPECT_DEATH(count_to(2), "data race");
}

TEST_F(RaceDeathTest, SeparateTensorsPass) {
    softmax_twice(2);
    count_to(1);
}

}  // namespace
}  // namespace halyard
