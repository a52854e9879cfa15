// Prints how the model of time compares with published measurements, and tests what it must get
// right.
#include "gpu/model/launch_time.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "gpu/model/live_registers.h"
#include "registry/base/error.h"
#include "tests/gpu/model/sgemm_ladder.h"
#include "tests/gpu/run_ptx.h"

namespace halyard::ptx {
namespace {

constexpr double operations = 2.0 * 4096 * 4096 * 4096;

double modelled_gigaflops(const LaunchTime &t) {
    return operations / t.microseconds / 1e3;
}

// Published products that differ by this factor must be in the right order.
constexpr double clearly_faster = 1.4;

TEST(LaunchTime, IsThatOfPublishedProducts) {
    const GpuProfile &gpu = GpuProfile::named("a6000");
    const std::vector<PublishedProduct> &products = published_products();
    constexpr double most = 1.5;
    std::printf("f32 products of 4096^3 on %s, GFLOP/s\n  %-34s %9s %9s %6s %5s %7s  %s\n",
                gpu.description.c_str(), "", "published", "modelled", "ratio", "regs", "blocks",
                "bound by");
    std::vector<double> modelled;
    for (size_t k = 0; k < products.size(); k++) {
        const LaunchFacts facts = facts_of_product(k);
        const LaunchTime t = modelled_time(gpu, facts);
        modelled.push_back(modelled_gigaflops(t));
        const double ratio = modelled[k] / products[k].gigaflops;
        std::printf("  %-34s %9.1f %9.1f %6.2f %5u %7d  %s\n", products[k].name,
                    products[k].gigaflops, modelled[k], ratio, facts.registers,
                    int(t.blocks_at_once), t.bound.c_str());
        EXPECT_LT(ratio, most) << products[k].name;
        EXPECT_GT(ratio, 1 / most) << products[k].name;
    }
    int pairs = 0, in_order = 0;
    for (size_t b = 0; b < products.size(); b++) {
        for (size_t a = 0; a < b; a++) {
            pairs++;
            in_order += modelled[a] < modelled[b];
            if (products[b].gigaflops > clearly_faster * products[a].gigaflops) {
                EXPECT_LT(modelled[a], modelled[b]) << products[a].name << ", " << products[b].name;
            }
        }
    }
    std::printf("  %d of %d pairs are in the published order\n", in_order, pairs);
}

// Runs a copy of so many floats, `width` (1 or 4) of which a thread copies.
LaunchFacts copy(uint32_t floats, uint32_t width) {
    constexpr uint32_t threads = 256;
    const std::string vector = width == 4 ? ".v4" : "";
    const std::string values = width == 4 ? "{%f1, %f2, %f3, %f4}" : "%f1";
    KernelRun run(module_of("    ld.param.u64 %rd1, [p0];\n    ld.param.u64 %rd2, [p1];\n"
                            "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n"
                            "    mad.lo.s32 %r3, %r2, 256, %r1;\n    mul.wide.u32 %rd3, %r3, " +
                            std::to_string(4 * width) +
                            ";\n    add.s64 %rd4, %rd1, %rd3;\n    add.s64 %rd5, %rd2, %rd3;\n"
                            "    ld.global" +
                            vector + ".f32 " + values +
                            ", [%rd4];\n"
                            "    st.global" +
                            vector + ".f32 [%rd5], " + values + ";\n"));
    run.machine.note_sectors();
    run.add(std::vector<float>(floats, 1.0f));
    run.add_unwritten(uint64_t(floats) * 4);
    const LaunchShape shape{{floats / width / threads, 1, 1}, {threads, 1, 1}};
    EXPECT_TRUE(run.launch(shape).empty());
    LaunchFacts facts{"kernel", shape, run.machine.counts(), 0, 16};
    EXPECT_EQ(facts.counts.launch_sectors, uint64_t(2) * floats / 8);
    EXPECT_EQ(facts.counts.block_sectors, uint64_t(2) * floats / 8);
    EXPECT_EQ(facts.counts.lines, uint64_t(2) * floats / 32);
    return facts;
}

TEST(LaunchTime, OfACopyIsThatOfItsTraffic) {
    const LaunchTime t = modelled_time(GpuProfile::named("h100"), copy(1 << 22, 4));
    EXPECT_EQ(t.bound, "DRAM");
    EXPECT_EQ(t.dram_share, 1);
    EXPECT_NEAR(t.microseconds, 2 * 4 * (1 << 22) / 3.35e6, 0.01);
}

// Two blocks at once have 2 KB in flight with loads of 4 bytes, 8 KB with loads of 16.
TEST(LaunchTime, OfNarrowLoadsIsTheirLatency) {
    const GpuProfile &gpu = GpuProfile::named("h100");
    LaunchFacts wide = copy(1 << 20, 4), narrow = copy(1 << 20, 1);
    wide.shared_bytes = narrow.shared_bytes = 100 << 10;
    const LaunchTime of_narrow = modelled_time(gpu, narrow);
    EXPECT_EQ(of_narrow.blocks_at_once, 2U);
    EXPECT_EQ(of_narrow.bound, "latency");
    EXPECT_LT(2 * modelled_time(gpu, wide).microseconds, of_narrow.microseconds);
}

TEST(LaunchTime, NeedsABlockThatFits) {
    LaunchFacts facts{"big", {{1, 1, 1}, {1024, 1, 1}}, {}, 0, 100};
    try {
        modelled_time(GpuProfile::named("a100"), facts);
        FAIL() << "it has 65536 registers";
    } catch (const DeviceError &e) {
        EXPECT_STREQ(e.what(), "[gpu] big: a block of 1024 threads, 100 registers and 0 bytes of "
                               "shared memory doesn't fit into A100 SXM 80 GB");
    }
    EXPECT_THROW(GpuProfile::named("b200"), AttrError);
}

TEST(LiveRegisters, AreThoseThatAreReadLater) {
    const Module m = parse(module_of(R"(
    ld.param.u64 %rd1, [p0];
    mov.f32 %f1, 0f00000000;
    mov.f32 %f2, 0f00000000;
    mov.u32 %r1, 4;
again:
    ld.global.f32 %f3, [%rd1];
    fma.rn.f32 %f1, %f3, %f3, %f1;
    sub.s32 %r1, %r1, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra again;
    add.f32 %f1, %f1, %f2;
    st.global.f32 [%rd1], %f1;
)"));
    EXPECT_EQ(live_registers(m.entries[0]), 6U) << "rd1 (two), f1, f2, f3 and r1";
}

}  // namespace
}  // namespace halyard::ptx
