// Tests the cube unit (mmad) against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/ascend/instruction_runner.h"

namespace halyard::dv {
namespace {

// Compares an mmad of m x k x n on operands laid out in fractals with sums in double.
template<class T, class Sum>
void check_mmad(const std::string &profile, int m, int k, int n, std::mt19937 &random) {
    constexpr int unit = 32 / int(sizeof(T));
    const int m1 = (m + 15) / 16;
    const int n1 = (n + 15) / 16;
    const int k1 = (k + unit - 1) / unit;
    test::InstructionRunner runner(profile);
    T *a = runner.add<T>("a", Scope::l0a, m1 * k1 * 16 * unit);
    T *b = runner.add<T>("b", Scope::l0b, k1 * n1 * 16 * unit);
    Sum *c = runner.add<Sum>("c", Scope::l0c, m1 * n1 * 256);
    test::fill(a, m1 * k1 * 16 * unit, random);
    test::fill(b, k1 * n1 * 16 * unit, random);
    test::fill(c, m1 * n1 * 256, random);
    const std::vector<Sum> before(c, c + m1 * n1 * 256);
    for (const bool add : {true, false}) {
        std::copy(before.begin(), before.end(), c);
        Mmad mm;
        mm.dst = runner.ref("c");
        mm.a = runner.ref("a");
        mm.b = runner.ref("b");
        mm.m = m;
        mm.k = k;
        mm.n = n;
        mm.accumulate = add;
        ASSERT_TRUE(runner.run(mm).empty());
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                const int at = (j / 16 * m1 * 16 + i) * 16 + j % 16;
                double want = add ? double(before[size_t(at)]) : 0;
                double abs_sum = std::fabs(want);
                for (int x = 0; x < k; x++) {
                    const double term =
                        double(a[((i / 16 * k1 + x / unit) * 16 + i % 16) * unit + x % unit]) *
                        double(b[((x / unit * n1 + j / 16) * 16 + j % 16) * unit + x % unit]);
                    want += term;
                    abs_sum += std::fabs(term);
                }
                ASSERT_NEAR(double(c[at]), want, std::is_integral_v<Sum> ? 0 : abs_sum * 0x1p-20)
                    << m << " x " << k << " x " << n << " at " << i << ", " << j;
            }
        }
    }
}

TEST(Cube, MultipliesMatricesOfEveryType) {
    std::mt19937 random(6);
    int cases = 0;
    for (const auto &[m, k, n] : {std::array{16, 16, 16}, std::array{32, 64, 48},
                                  std::array{5, 70, 17}, std::array{1, 1, 1}}) {
        for (const std::string &profile : Profile::names()) {
            check_mmad<float16, float>(profile, m, k, n, random);
            check_mmad<int8_t, int32_t>(profile, m, k, n, random);
            cases += 2;
        }
        check_mmad<float, float>("ascend910b", m, k, n, random);
        check_mmad<bfloat16, float>("ascend910b", m, k, n, random);
        cases += 2;
    }
    std::printf("%d cases\n", cases);
}

TEST(Cube, StoresItsResultsWithStrides) {
    std::mt19937 random(8);
    test::InstructionRunner runner("ascend910");
    float *c = runner.add<float>("c", Scope::l0c, 4 * 256);
    test::fill(c, 4 * 256, random);
    float16 *d = runner.add<float16>("d", Scope::ub, 4 * 256);
    CcToUb out;
    out.dst = runner.ref("d");
    out.src = runner.ref("c");
    out.nburst = 2;
    out.burst = 1;
    out.src_gap = 1;
    out.dst_gap = 2;
    out.relu = true;
    ASSERT_TRUE(runner.run(out).empty());
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < 256; i++)
            EXPECT_EQ(float(d[f * (256 + 32) + i]), float(float16(std::max(c[f * 512 + i], 0.0f))));
    }
}

}  // namespace
}  // namespace halyard::dv
