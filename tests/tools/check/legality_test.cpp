// Tests kernels with right results that are still wrong: each is rejected, with the Func and the
// directive at fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"
#include "primitives/library.h"
#include "registry/base/parallel.h"
#include "tests/tools/check/row_sums.h"
#include "tools/check/check.h"
#include "tools/check/record.h"

namespace halyard::check {
namespace {

using testing::AllOf, testing::Contains, testing::Each, testing::ElementsAre,
    testing::ElementsAreArray, testing::HasSubstr, testing::IsEmpty, testing::Not;

// Threads add to one element.
struct RacyCpuSums : RowSums {
    RacyCpuSums() : RowSums("racy_cpu_sums") { gpu = false; }
    void schedule(const Cpu &) override {
        total.compute_root()
            .update()
            .allow_race_conditions()
            .split(k, ko, ki, 8, Tail::GuardWithIf)
            .reorder(ki, n, ko)
            .parallel(ko);
    }
};

// Registers an op as `halyard check` would find it: listed, with a kernel of each backend. Returns
// a new one, because ops are not copyable.
template<class T> T registered() {
    const T op;
    op_table().add<T>();
    static const OpFile file{"", {op}, {}};
    library().add({&file});
    for (const char *backend : {"cpu", "opencl"}) {
        if (backend == std::string("opencl") && !op.gpu) continue;
        Instance i;
        i.backend = backend;
        i.isa = host_isa();
        Kernel kernel(std::make_unique<T>(), i);
        library().add_kernel({op.name, backend, "f32", "", i.isa, kernel.lanes, {}, kernel.load()});
    }
    return T();
}

Report run(Check check, const Op &op) {
    Options o;
    o.isas = {host_isa()};
    o.legality = true;
    Report r = run_check(op, "", check, o);
    for (auto &f : r.failures)
        std::printf("    %s\n", f.c_str());
    return r;
}

void expect_right_numbers(const Op &op, Check check) {
    const Report r = run(check, op);
    EXPECT_THAT(r.failures, IsEmpty());
    EXPECT_GT(r.passed, 0);
}

class Legality : public testing::Test {
protected:
    void SetUp() override {
        if (std::system("command -v oclgrind > /dev/null") != 0 || !has_device("opencl"))
            GTEST_SKIP() << "needs oclgrind and an OpenCL device";
    }
};

TEST_F(Legality, PassesASoundGpuReduction) {
    const auto op = registered<SoundSums>();
    const Report r = run(check_legality, op);
    EXPECT_THAT(r.failures, IsEmpty());
    EXPECT_EQ(r.passed, 9) << "three samples, on the device and twice on the CPU";
}

TEST_F(Legality, RejectsARacyGpuReductionWithRightResults) {
    const auto op = registered<RacyGpuSums>();
    expect_right_numbers(op, check_device);
    const Report r = run(check_legality, op);
    ASSERT_THAT(r.failures, Not(IsEmpty()));
    EXPECT_THAT(r.failures, Each(AllOf(HasSubstr("racy_gpu_sums legality/opencl 'n=2 c=21': "),
                                       HasSubstr("data race"),
                                       HasSubstr("`total` update 0: allow_race_conditions()"),
                                       HasSubstr("gpu_threads(ki) over a reduction"))));
    EXPECT_EQ(r.passed, 7) << "one element is no race, and the CPU kernel has none";
}

TEST_F(Legality, RejectsARacyCpuReductionWithRightResults) {
    const auto op = registered<RacyCpuSums>();
    set_threads(1);
    expect_right_numbers(op, check_reference);
    set_threads(0);
    const Report r = run(check_legality, op);
    ASSERT_THAT(r.failures, Not(IsEmpty()));
    EXPECT_THAT(
        r.failures,
        Each(
            AllOf(HasSubstr("legality/baseline/thread 'n=2 c=21': data race in `total` update 0: "),
                  HasSubstr("parallel(ko) over a reduction"))));
}

// Each of the lines above the map is its first one, so that no result shows the race. The vectors
// have 32 or 64 bytes.
TEST(Sanitizers, SeeARaceOfWideVectorsInALoopWithinALoop) {
    if (host_isa() != Isa::avx512) GTEST_SKIP() << "the fault's number is that of AVX-512";
    list_kit_ops();
    const OpPtr op = op_table().make("max_pool2d");
    op->samples = {"n=1 c=1 h=8 w=46 kernel_size=7,7 stride=3,3 pad_mode=pad padding=3,3,3,3"};
    Instance i;
    i.isa = Isa::avx512;
    i.dtypes = "bf16";
    Report right;
    check_sanitized(*op, i, right);
    EXPECT_THAT(right.failures, IsEmpty());
    i.fault = "racy-parallel: loop best.s1.r$y #7";
    Report faulty;
    check_sanitized(*op, i, faulty);
    EXPECT_THAT(faulty.failures, ElementsAre(HasSubstr("data race in `best` update 0")));
}

TEST(RecordedSamples, StayWithinTheirLimits) {
    list_kit_ops();
    const OpPtr op = op_table().make("relu");
    std::vector<std::string> by_size;
    for (const char *extent : {"1", "10", "100", "1000", "10000"})
        by_size.push_back(std::string("d0=1 d1=1 d2=") + extent);
    op->samples = {by_size.rbegin(), by_size.rend()};
    Instance i;
    i.dtypes = "f32";
    i.isa = host_isa();
    Kernel kernel(op_table().make("relu"), i);
    const auto recorded = [&](const SampleLimits &limits) {
        const SampleCalls calls = record_samples(*op, kernel, limits);
        EXPECT_EQ(calls.recording.calls.size(), calls.samples.size());
        return calls.samples;
    };
    EXPECT_THAT(recorded({.work = 1 << 20}), ElementsAreArray(by_size));
    EXPECT_THAT(recorded({.work = 500}), ElementsAre(by_size[0], by_size[1], by_size[2]));
    EXPECT_THAT(recorded({.work = 0}), ElementsAre(by_size[0])) << "the smallest in any case";
    EXPECT_THAT(recorded({.work = 1 << 20, .smallest = 0}), IsEmpty());
    EXPECT_THAT(recorded({.work = 1 << 20, .samples = 2}), ElementsAre(by_size[1], by_size[4]));
}

TEST_F(Legality, RejectsAReadPastTheEndWithRightResults) {
    const auto op = registered<ReadsPast>();
    const Report numbers = run(check_reference, op);
    EXPECT_GT(numbers.passed, 0);
    EXPECT_THAT(numbers.failures,
                Each(HasSubstr(": it reads past the end of input x (byte 1 after it)")))
        << "no number is wrong, but a page is touched";
    const Report r = run(check_legality, op);
    EXPECT_THAT(r.failures,
                Contains(AllOf(HasSubstr("/opencl 'n=1 c=1': Invalid read of size 4 "),
                               HasSubstr("in `total` update 0: gpu_blocks(n), gpu_threads(ni)"))));
    EXPECT_THAT(r.failures,
                Contains(AllOf(HasSubstr("/opencl 'n=1 c=1': Uninitialized value written "),
                               HasSubstr("in `y`: "))));
    EXPECT_THAT(r.failures,
                Contains(AllOf(HasSubstr("/address 'n=1 c=1': heap-buffer-overflow in "),
                               HasSubstr("reads_past"))));
}

}  // namespace
}  // namespace halyard::check
