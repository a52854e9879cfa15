// Tests the simulator as a whole: quick enough for development, and the same on any number of
// threads.
#include "ascend/simulator/simulate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "registry/base/parallel.h"
#include "tests/ascend/emitted.h"

namespace halyard::dv {
namespace {

double seconds(const std::function<void()> &f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Simulator, IsFast) {
    const Program add = test::add_relu_builder(1024 * 1024, 32, 8192).build();
    const Program matmul = test::matmul_builder(512, 512, 512, 128, 128, 128).build();
    test::Gm a = test::filled(add);
    test::Gm m = test::filled(matmul);
    SimResult r;
    const double adding = seconds([&] { r = simulate(add, a.bindings()); });
    EXPECT_TRUE(r.ok());
    std::printf("add_relu of 1024 x 1024: %.3f s for %.0f simulated cycles\n", adding, r.cycles);
    const double multiplying = seconds([&] { r = simulate(matmul, m.bindings()); });
    EXPECT_TRUE(r.ok());
    std::printf("matmul of 512 x 512 x 512: %.3f s for %.0f simulated cycles\n", multiplying,
                r.cycles);
    EXPECT_LT(adding, 1);
    EXPECT_LT(multiplying, 10);
}

TEST(Simulator, IsDeterministicForAnyNumberOfThreads) {
    const int before = threads();
    for (const Program &p :
         {test::mixture(), test::matmul_builder(128, 128, 128, 32, 64, 32).build()}) {
        std::vector<std::vector<uint8_t>> bits;
        std::vector<double> cycles;
        std::vector<std::string> issues;
        for (const int n : {1, 3, 8}) {
            set_threads(n);
            test::Gm gm = test::filled(p);
            const SimResult r = simulate(p, gm.bindings());
            bits.push_back(test::bytes(p, gm));
            cycles.push_back(r.cycles);
            issues.push_back(to_text(r.issues));
        }
        set_threads(before);
        for (size_t i = 1; i < bits.size(); i++) {
            EXPECT_EQ(bits[i], bits[0]);
            EXPECT_EQ(cycles[i], cycles[0]);
            EXPECT_EQ(issues[i], issues[0]);
        }
    }
}

// Compares whole programs, a softmax of rows and a product, with plain loops.
TEST(Simulator, RunsWholePrograms) {
    const Program softmax = test::softmax_builder(5, 320).build();
    test::Gm s = test::filled(softmax);
    ASSERT_TRUE(simulate(softmax, s.bindings()).ok());
    for (int row = 0; row < 5; row++) {
        double sum = 0;
        for (int i = 0; i < 320; i++)
            sum += std::exp(double(s.as<float>(0)[row * 320 + i]));
        for (int i = 0; i < 320; i++) {
            EXPECT_NEAR(s.as<float>(1)[row * 320 + i],
                        std::exp(double(s.as<float>(0)[row * 320 + i])) / sum, 1e-9);
        }
    }
    const Program matmul = test::matmul_builder(64, 96, 32, 32, 48, 32).build();
    test::Gm m = test::filled(matmul);
    ASSERT_TRUE(simulate(matmul, m.bindings()).ok());
    for (int i = 0; i < 64; i++) {
        for (int j = 0; j < 32; j++) {
            double sum = 0;
            for (int k = 0; k < 96; k++) {
                sum += double(m.as<float16>(0)[(k / 16 * 64 + i) * 16 + k % 16]) *
                       double(m.as<float16>(1)[(k / 16 * 32 + j) * 16 + k % 16]);
            }
            EXPECT_NEAR(m.as<float>(2)[(j / 16 * 64 + i) * 16 + j % 16], sum, 1e-4);
        }
    }
}

TEST(Simulator, PassesScalarsAsArguments) {
    Builder b("scaled", "ascend910");
    const Scalar n = b.input_scalar(DType::i32, "n");
    const Scalar by = b.input_scalar(DType::f32, "by");
    const Tensor x = b.gm(DType::f32, n.expr() * 64, "x", GmTensor::inout);
    b.for_range(0, n.expr(), [&](const Expr &i) {
        const Tensor u = b.tensor(DType::f32, 64, Scope::ub, "u");
        b.data_move(u, x[i * 64], 1, 8, 0, 0);
        b.vec_muls(64, u, u, by, 1, {8, 8});
        b.data_move(x[i * 64], u, 1, 8, 0, 0);
    });
    const Program p = b.build();
    std::vector<float> values(3 * 64, 2);
    const SimResult r = simulate(p, {{values.data(), int64_t(values.size()) * 4}}, {3, 1.5});
    EXPECT_TRUE(r.ok()) << to_text(r.issues);
    for (const float v : values)
        EXPECT_EQ(v, 3);
}

}  // namespace
}  // namespace halyard::dv
