// Tests moves and loads between memories against plain loops.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/ascend/instruction_runner.h"

namespace halyard::dv {
namespace {

TEST(Move, CopiesBursts) {
    std::mt19937 random(5);
    for (int n = 0; n < 20; n++) {
        test::InstructionRunner runner("ascend910");
        int32_t *a = runner.add<int32_t>("a", Scope::l1, 8192);
        int32_t *d = runner.add<int32_t>("d", Scope::ub, 8192);
        for (int i = 0; i < 8192; i++) {
            a[i] = i;
            d[i] = -1;
        }
        const int count = 1 + int(random() % 9);
        const int burst = 1 + int(random() % 20);
        const int from_gap = int(random() % 30);
        const int to_gap = int(random() % 30);
        Dma move;
        move.dst = runner.ref("d");
        move.src = runner.ref("a");
        move.nburst = count;
        move.burst = burst;
        move.src_gap = from_gap;
        move.dst_gap = to_gap;
        ASSERT_TRUE(runner.run(move).empty());
        std::vector<int32_t> want(8192, -1);
        for (int i = 0; i < count; i++) {
            for (int k = 0; k < burst * 8; k++)
                want[size_t(i * (burst + to_gap) * 8 + k)] = i * (burst + from_gap) * 8 + k;
        }
        EXPECT_TRUE(std::equal(want.begin(), want.end(), d));
    }
}

TEST(Move, Load2dTakesStridesAndTransposes) {
    test::InstructionRunner runner("ascend910");
    float16 *a = runner.add<float16>("a", Scope::l1, 4096);
    float16 *d = runner.add<float16>("d", Scope::l0b, 4096);
    for (int i = 0; i < 4096; i++)
        a[i] = float16(float(i % 2048));
    Load2d l;
    l.dst = runner.ref("d");
    l.src = runner.ref("a");
    l.repeat = 4;
    l.src_stride = 2;
    l.dst_gap = 1;
    for (const bool transpose : {false, true}) {
        l.transpose = transpose;
        ASSERT_TRUE(runner.run(l).empty());
        for (int f = 0; f < 4; f++) {
            for (int i = 0; i < 256; i++) {
                EXPECT_EQ(float(d[f * 512 + i]),
                          float(a[f * 512 + (transpose ? i % 16 * 16 + i / 16 : i)]));
            }
        }
    }
}

TEST(Move, Load3dIsIm2col) {
    std::mt19937 random(7);
    int cases = 0;
    for (const auto &[kernel, stride, dilation, pad] :
         {std::array{1, 1, 1, 0}, std::array{3, 1, 1, 1}, std::array{3, 2, 1, 1},
          std::array{2, 2, 2, 0}, std::array{5, 3, 1, 2}}) {
        constexpr int h = 9, w = 11, c1 = 2;
        test::InstructionRunner runner("ascend910");
        float16 *a = runner.add<float16>("a", Scope::l1, c1 * h * w * 16);
        float16 *d = runner.add<float16>("d", Scope::l0a, 32 * 1024);
        test::fill(a, c1 * h * w * 16, random);
        const int ho = (h + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
        const int wo = (w + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
        const int k1 = c1 * kernel * kernel;
        const int first = k1 > 4 ? 2 : 0;
        const int wide = std::min(k1 - first, 12);
        const int m = (ho * wo + 15) / 16 * 16;
        Load3d l;
        l.dst = runner.ref("d");
        l.src = runner.ref("a");
        l.h = h;
        l.w = w;
        l.c1 = c1;
        l.kh = l.kw = kernel;
        l.stride_h = l.stride_w = stride;
        l.dilation_h = l.dilation_w = dilation;
        l.pad_value = -3;
        l.k_start = first * 16;
        l.k_extent = wide * 16;
        l.m_extent = m;
        for (Expr &p : l.pad)
            p = pad;
        ASSERT_TRUE(runner.run(l).empty());
        for (int i = 0; i < m; i++) {
            for (int k = 0; k < wide * 16; k++) {
                const int column = first * 16 + k;
                const int c = column / 16 / kernel / kernel;
                const int y = i / wo * stride - pad + column / 16 / kernel % kernel * dilation;
                const int x = i % wo * stride - pad + column / 16 % kernel * dilation;
                const bool inside = i < ho * wo && y >= 0 && y < h && x >= 0 && x < w;
                ASSERT_EQ(float(d[((i / 16 * wide + k / 16) * 16 + i % 16) * 16 + k % 16]),
                          inside ? float(a[((c * h + y) * w + x) * 16 + k % 16]) : -3)
                    << "kernel " << kernel << " row " << i << " column " << column;
            }
        }
        cases++;
    }
    std::printf("%d cases\n", cases);
}

TEST(Move, SplitCoresMoveByRows) {
    // The move reads GM, so it runs as a whole program: rows become fractals of l1.
    Program p;
    p.name = "rows";
    p.profile = "ascend910b";
    p.tensors = {{"x", DType::f16, 20 * 64, GmTensor::in, false}};
    p.buffers = {{"l", Scope::l1, DType::f16, 4 * 32 * 16, 1, 32, 0}};
    Nd2Nz in;
    in.dst = {"l", 0, 0, DType::f16};
    in.src = {"x", 0, 0, DType::f16};
    in.rows = 20;
    in.columns = 50;
    in.pitch = 64;
    in.rows_padded = 32;
    p.body.emplace_back(Alloc{"l"});
    p.body.emplace_back(Instr{in, ""});
    std::vector<float16> x(20 * 64);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = float16(float(i));
    struct Run : Sink {
        Memory memory;
        Run(const Profile &chip, Binding b) : memory(chip, {b}) {}
        void step(Step &s) override { execute(s, memory); }
        double load(Step &) override { return 0; }
    } run(p.chip(), {x.data(), int64_t(x.size()) * 2});
    Walker(p, {}).run(0, run);
    Location at;
    at.scope = Scope::l1;
    const float16 *l = (const float16 *)run.memory.at(at);
    for (int r = 0; r < 20; r++) {
        for (int c = 0; c < 64; c++) {
            EXPECT_EQ(float(l[(c / 16 * 32 + r) * 16 + c % 16]),
                      c < 50 ? float(x[size_t(r * 64 + c)]) : 0)
                << r << ", " << c;
        }
    }
}

}  // namespace
}  // namespace halyard::dv
