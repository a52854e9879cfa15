// Tests each kind of finding on a small kernel that has it, and on one that is right.
#include <algorithm>

#include "gpu/machine/machine.h"
#include "tests/gpu/run_ptx.h"

namespace halyard::ptx {
namespace {

const std::string thread_address = R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [p0];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
)";

std::string only(const std::vector<Finding> &found) {
    if (found.size() != 1) {
        std::string all = std::to_string(found.size()) + " findings";
        for (const Finding &f : found)
            all += "\n" + text_of(f);
        return all;
    }
    return text_of(found[0]);
}

// Returns the line of the first instruction that begins so.
int line_of(const std::string &text, const std::string &instruction) {
    const size_t at = text.find(instruction);
    return 1 + int(std::count(text.begin(), text.begin() + long(at), '\n'));
}

std::string at(const std::string &text, const std::string &instruction, const std::string &place) {
    return " in kernel, line " + std::to_string(line_of(text, instruction)) + " (" +
           instruction.substr(0, instruction.find(' ')) + "), " + place;
}

TEST(Findings, AccessBeyondABuffer) {
    const std::string text = module_of(thread_address + "st.global.u32 [%rd3], %r1;\n");
    KernelRun run(text);
    run.add_unwritten(30 * 4);
    EXPECT_EQ(only(run.launch({{1, 1, 1}, {32, 1, 1}})),
              "access out of bounds" +
                  at(text, "st.global.u32 [", "block (0,0,0), thread (30,0,0)") +
                  ": 4 bytes at 120 of parameter 0, which has 120");
    EXPECT_TRUE(run.launch({{1, 1, 1}, {30, 1, 1}}).empty());
}

TEST(Findings, AccessBelowABuffer) {
    const std::string text = module_of(thread_address + "ld.global.u32 %r2, [%rd3+-8];\n");
    KernelRun run(text);
    run.machine.memory.allocate(64);
    run.add(std::vector<int>(32));
    EXPECT_NE(only(run.launch({})).find("4 bytes at -8 of parameter 0, which has 128"),
              std::string::npos);
}

TEST(Findings, AccessInNoBufferAndInAFreedOne) {
    KernelRun run(module_of(thread_address + "ld.global.u32 %r2, [%rd3];\n"));
    run.add_value(64);
    EXPECT_NE(only(run.launch({})).find("4 bytes at address 64, in no buffer"), std::string::npos);
    KernelRun freed(module_of(thread_address + "ld.global.u32 %r2, [%rd3];\n"));
    freed.machine.memory.free(freed.add(std::vector<int>(32)));
    EXPECT_NE(only(freed.launch({})).find("4 bytes in a buffer that has been freed"),
              std::string::npos);
}

TEST(Findings, AccessBeyondSharedMemory) {
    const std::string text = module_of(R"(
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    st.shared.u32 [%r2], %r1;
)",
                                       ".extern .shared .align 16 .b8 scratch[];\n");
    KernelRun run(text);
    EXPECT_NE(only(run.launch({{1, 1, 1}, {32, 1, 1}, 64}))
                  .find("thread (16,0,0): 4 bytes at 64 of shared memory, which has 64"),
              std::string::npos);
    EXPECT_TRUE(run.launch({{1, 1, 1}, {32, 1, 1}, 128}).empty());
}

TEST(Findings, UninitialisedRead) {
    const std::string text = module_of(thread_address + "ld.global.u32 %r2, [%rd3];\n");
    KernelRun run(text);
    run.add_unwritten(32 * 4);
    EXPECT_EQ(only(run.launch({{1, 1, 1}, {32, 1, 1}})),
              "uninitialised read" +
                  at(text, "ld.global.u32 %r2", "block (0,0,0), thread (0,0,0)") +
                  ": 4 bytes at 0 of parameter 0, which has 128 (32 times)");
}

TEST(Findings, SharedMemoryOfAnEarlierBlockIsUninitialised) {
    KernelRun run(module_of(R"(
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra second;
    st.shared.u32 [scratch], %r1;
second:
    ld.shared.u32 %r2, [scratch];
)",
                            ".shared .align 4 .b8 scratch[4];\n"));
    const std::string found = only(run.launch({{2, 1, 1}, {1, 1, 1}}));
    EXPECT_NE(found.find("uninitialised read"), std::string::npos) << found;
    EXPECT_NE(found.find("block (1,0,0)"), std::string::npos) << found;
}

TEST(Findings, MisalignedAccess) {
    KernelRun run(module_of(thread_address + "ld.global.v2.u32 {%r2, %r3}, [%rd3];\n"));
    run.add(std::vector<int>(64));
    const std::string found = only(run.launch({{1, 1, 1}, {32, 1, 1}}));
    EXPECT_NE(found.find("misaligned access"), std::string::npos) << found;
    EXPECT_NE(found.find("thread (1,0,0): address "), std::string::npos) << found;
    EXPECT_NE(found.find(" is no multiple of 8"), std::string::npos) << found;
}

// Each thread writes its word of shared memory and reads its neighbour's.
std::string exchange(const std::string &between) {
    return module_of(R"(
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    st.shared.u32 [%r2], %r1;
)" + between + R"(
    xor.b32 %r3, %r2, 4;
    ld.shared.u32 %r4, [%r3];
)",
                     ".shared .align 4 .b8 scratch[256];\n");
}

TEST(Findings, RaceInSharedMemory) {
    KernelRun run(exchange(""));
    const std::string found = only(run.launch({{1, 1, 1}, {64, 1, 1}}));
    EXPECT_NE(found.find("race in kernel"), std::string::npos) << found;
    EXPECT_NE(found.find("thread (0,0,0): 4 bytes at 4 of shared memory, which has 256: thread "
                         "(1,0,0) wrote it with no barrier between (64 times)"),
              std::string::npos)
        << found;
    KernelRun right(exchange("bar.sync 0;\n"));
    EXPECT_TRUE(right.launch({{2, 1, 1}, {64, 1, 1}}).empty());
    EXPECT_EQ(right.machine.counts().barriers, 2U);
}

TEST(Findings, RaceOfAReadWithALaterWrite) {
    // The second half of the block writes what the first half has read.
    KernelRun run(module_of(R"(
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 31;
    mul.wide.u32 %rd2, %r2, 4;
    ld.param.u64 %rd1, [p0];
    add.s64 %rd3, %rd1, %rd2;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 ld.global.u32 %r3, [%rd3];
    @!%p1 st.global.u32 [%rd3], %r1;
)"));
    run.add(std::vector<int>(32));
    const std::string found = only(run.launch({{1, 1, 1}, {64, 1, 1}}));
    EXPECT_NE(found.find("(st.global.u32)"), std::string::npos) << found;
    EXPECT_NE(found.find("thread (0,0,0) read it with no barrier between"), std::string::npos)
        << found;
}

TEST(Findings, RaceOfTwoBlocks) {
    // A barrier doesn't order blocks.
    KernelRun run(module_of(R"(
    bar.sync 0;
    mov.u32 %r1, %ctaid.x;
    ld.param.u64 %rd1, [p0];
    st.global.u32 [%rd1+4], %r1;
)"));
    run.add(std::vector<int>(2));
    const std::string found = only(run.launch({{2, 2, 1}, {1, 1, 1}}));
    EXPECT_NE(found.find("block (1,0,0), thread (0,0,0): 4 bytes at 4 of parameter 0, which has 8: "
                         "block (0,0,0), thread (0,0,0) wrote it"),
              std::string::npos)
        << found;
    // Launches are ordered.
    EXPECT_TRUE(run.launch({}).empty());
    EXPECT_TRUE(run.launch({}).empty());
}

TEST(Findings, WritesOfOneValueAreNoRace) {
    KernelRun run(module_of("ld.param.u64 %rd1, [p0];\nst.global.u32 [%rd1], 7;\n"));
    run.add_unwritten(4);
    EXPECT_TRUE(run.launch({{2, 1, 1}, {64, 1, 1}}).empty());
}

TEST(Findings, SingleBytesDoNotConflictWithTheirNeighbours) {
    KernelRun run(module_of(R"(
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd2, %r1;
    ld.param.u64 %rd1, [p0];
    add.s64 %rd3, %rd1, %rd2;
    st.global.u8 [%rd3], %r1;
)"));
    const uint64_t bytes = run.add_unwritten(64);
    EXPECT_TRUE(run.launch({{1, 1, 1}, {64, 1, 1}}).empty());
    EXPECT_EQ(run.values<uint8_t>(bytes)[63], 63);
}

TEST(Findings, DivergentBarrier) {
    const std::string text = module_of(R"(
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 4;
    @%p1 bra done;
    bar.sync 0;
done:
)");
    KernelRun run(text);
    EXPECT_EQ(only(run.launch({{1, 1, 1}, {64, 1, 1}})),
              "divergent barrier" + at(text, "bar.sync 0", "block (0,0,0), thread (0,0,0)") +
                  ": thread (32,0,0) ended without it");
    EXPECT_TRUE(run.launch({{1, 1, 1}, {5, 1, 1}}).empty());
}

TEST(Findings, TwoBarriersOfOneWarp) {
    KernelRun run(module_of(R"(
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 4;
    @%p1 bra other;
    bar.sync 0;
    bra done;
other:
    bar.sync 0;
done:
)"));
    EXPECT_NE(
        only(run.launch({{1, 1, 1}, {32, 1, 1}})).find("of its warp waits at another barrier"),
        std::string::npos);
}

TEST(Findings, ThreadsThatTakeAnotherWayMeetAtTheBarrier) {
    // The way of some threads stands behind the barrier in the text.
    KernelRun run(module_of(R"(
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 4;
    @%p1 bra detour;
meet:
    bar.sync 0;
    bra done;
detour:
    add.u32 %r1, %r1, 1;
    bra meet;
done:
)"));
    EXPECT_TRUE(run.launch({{1, 1, 1}, {64, 1, 1}}).empty());
}

TEST(Findings, EndlessKernel) {
    KernelRun run(module_of("again:\nbra again;\n"));
    run.machine.set_limit(1000);
    EXPECT_NE(only(run.launch({})).find("endless kernel in kernel"), std::string::npos);
}

TEST(Findings, TheKernelStopsAtAnAccessOutOfBounds) {
    KernelRun run(module_of(R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    st.global.u32 [%rd1+4], 1;
    st.global.u32 [%rd2], 1;
)"));
    run.add(std::vector<int>(1));
    const uint64_t after = run.add(std::vector<int>(1));
    EXPECT_EQ(run.launch({}).size(), 1U);
    EXPECT_EQ(run.values<int>(after)[0], 0);
}

}  // namespace
}  // namespace halyard::ptx
