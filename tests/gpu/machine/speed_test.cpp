// Prints how fast the machine is, and tests what it counts meanwhile.
#include <ctime>

#include <cstdio>

#include "gpu/machine/machine.h"
#include "tests/gpu/run_ptx.h"

namespace halyard::ptx {
namespace {

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Each thread adds the squares of a column of 64 numbers.
TEST(Speed, OfASumOfSquares) {
    constexpr uint32_t blocks = 256, threads = 128, rows = 64;
    KernelRun run(module_of(R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 128, %r1;
    mov.u32 %r4, 0;
    mov.f32 %f1, 0f00000000;
more:
    mad.lo.s32 %r5, %r4, 32768, %r3;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f2, [%rd4];
    fma.rn.f32 %f1, %f2, %f2, %f1;
    add.s32 %r4, %r4, 1;
    setp.lt.s32 %p1, %r4, 64;
    @%p1 bra more;
    mul.wide.s32 %rd5, %r3, 4;
    add.s64 %rd6, %rd2, %rd5;
    st.global.f32 [%rd6], %f1;
)"));
    run.add(std::vector<float>(size_t(blocks) * threads * rows, 0.5f));
    const uint64_t sums = run.add_unwritten(size_t(blocks) * threads * 4);
    const double begun = cpu_seconds();
    EXPECT_TRUE(run.launch({{blocks, 1, 1}, {threads, 1, 1}}).empty());
    const double took = cpu_seconds() - begun;
    EXPECT_EQ(run.values<float>(sums).back(), 16.0f);
    const Counts &c = run.machine.counts();
    EXPECT_EQ(c.by_opcode.at("fma.rn.f32").lanes, uint64_t(blocks) * threads * rows);
    EXPECT_EQ(c.load_sectors, uint64_t(blocks) * threads * rows * 4 / 32);
    EXPECT_EQ(c.divergent_branches, 0U);
    std::printf("[PTX machine] %.0f million lane instructions a second of CPU time\n",
                double(c.lane_instructions) / took / 1e6);
}

// Threads 32 words apart use one bank.
TEST(Speed, OfSharedMemoryIsCountedInWavefronts) {
    const auto wavefronts = [](const std::string &stride) {
        KernelRun run(module_of("    mov.u32 %r1, %tid.x;\n    mul.lo.u32 %r2, %r1, " + stride +
                                    ";\n    st.shared.u32 [%r2], %r1;\n",
                                ".shared .align 4 .b8 scratch[4096];\n"));
        EXPECT_TRUE(run.launch({{1, 1, 1}, {32, 1, 1}}).empty());
        EXPECT_EQ(run.machine.counts().least_wavefronts, 1U);
        return run.machine.counts().shared_wavefronts;
    };
    EXPECT_EQ(wavefronts("4"), 1U);
    EXPECT_EQ(wavefronts("8"), 2U);
    EXPECT_EQ(wavefronts("128"), 32U);
}

TEST(Speed, OfGlobalMemoryIsCountedInSectors) {
    const auto sectors = [](const std::string &stride) {
        KernelRun run(module_of("    ld.param.u64 %rd1, [p0];\n    mov.u32 %r1, %tid.x;\n"
                                "    mul.wide.u32 %rd2, %r1, " +
                                stride + ";\n    add.s64 %rd3, %rd1, %rd2;\n" +
                                "    ld.global.f32 %f1, [%rd3];\n"));
        run.add(std::vector<float>(32 * 32));
        EXPECT_TRUE(run.launch({{1, 1, 1}, {32, 1, 1}}).empty());
        return run.machine.counts().load_sectors;
    };
    EXPECT_EQ(sectors("0"), 1U);
    EXPECT_EQ(sectors("4"), 4U);
    EXPECT_EQ(sectors("8"), 8U);
    EXPECT_EQ(sectors("128"), 32U);
}

}  // namespace
}  // namespace halyard::ptx
