// Tests prefetching: loops that load an iteration ahead stay in order wherever they are.
#include <gtest/gtest.h>

#include "ascend/passes/passes.h"
#include "ascend/program/text.h"
#include "tests/ascend/programs.h"

namespace halyard::dv {
namespace {

constexpr int64_t columns = 64, rows = 5;

// Returns a loop that stores y = x * x[0] of each row of x, from row `first` of y on. The scalar
// unit reads x[0], so that rows are loaded ahead.
std::string loop_over_rows(const std::string &first) {
    return "for r in 0, 5 {\n"
           "  data_move ux{r % 2}[0], x[r * 64]  burst=8\n"
           "  vec_muls uy[0], ux{r % 2}[0], 1  mask=64\n"
           "  scalar_load s, uy[0]\n"
           "  vec_muls uy[0], uy[0], s  mask=64\n"
           "  data_move y[(" +
           first +
           " + r) * 64], uy[0]  burst=8\n"
           "}\n";
}

// Prefetches, synchronises and simulates a program that stores the rows `times` times.
void expect_in_order(const std::string &body, int64_t times) {
    Program p = parse_program("program rows ascend910 blocks=1\n"
                              "gm x f32[320] in\n"
                              "gm y f32[" +
                              std::to_string(times * rows * columns) +
                              "] out\n"
                              "alloc ubuf ux f32[64] slots=2 align=32\n"
                              "alloc ubuf uy f32[64] align=32\n" +
                              body);
    prefetch(p);
    const std::string text = to_text(p);
    ASSERT_NE(text.find("set_flag"), std::string::npos) << "nothing is prefetched:\n" << text;
    place_buffers(p);
    insert_sync(p);
    test::Gm gm(p);
    for (int64_t i = 0; i < rows * columns; i++)
        gm.as<float>(0)[i] = float(i % 23 - 11);
    SimOptions options;
    options.in_time_order = true;
    const SimResult result = simulate(p, gm.bindings(), {}, options);
    ASSERT_TRUE(result.ok()) << to_text(result.issues) << to_text(p);
    for (int64_t i = 0; i < times * rows * columns; i++) {
        const float *x = gm.as<float>(0) + i / columns % rows * columns;
        ASSERT_EQ(gm.as<float>(1)[i], x[i % columns] * x[0]) << i;
    }
}

TEST(Prefetch, ALoopIsInOrder) {
    expect_in_order(loop_over_rows("0"), 1);
}

TEST(Prefetch, ALoopWithinALoopIsInOrder) {
    expect_in_order("for i in 0, 4 {\n" + loop_over_rows("i * 5") + "}\n", 4);
}

TEST(Prefetch, LoopsOneAfterTheOtherAreInOrder) {
    expect_in_order(loop_over_rows("0") + loop_over_rows("5") + loop_over_rows("10"), 3);
}

}  // namespace
}  // namespace halyard::dv
