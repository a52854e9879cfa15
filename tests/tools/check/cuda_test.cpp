// Tests the check on the PTX machine: sound kernels pass, faults are found with the Func and the
// directive at fault, and the kernels of the kit's ops give what their references give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "kernels/elementwise/elementwise.h"
#include "primitives/library.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/force.h"
#include "tests/tools/check/row_sums.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

using testing::AllOf, testing::Contains, testing::HasSubstr, testing::IsEmpty;

// y = x; the kernel is wrong at two numbers. No sample has them: the one is among the integers of
// random calls, the other a number of 16 bits.
struct WrongAtTwoNumbers : Elementwise {
    WrongAtTwoNumbers() : Elementwise("wrong_at_two_numbers", "x[*] -> y[*]") {
        dtypes = {"f32", "bf16"};
    }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override {
        const Expr v = x(Halide::_);
        y(Halide::_) = select(v == 3_r || v == 304_r, 0_r, v);
    }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *out) { out[0] = in[0]; });
    }
};

// Lists the op, as programs with its kernels do.
template<class T> T registered() {
    const T op;
    op_table().add<T>();
    static const OpFile file{"", {op}, {}};
    library().add({&file});
    return T();
}

Report run(const Op &op) {
    Report r = run_check(op, "cuda", check_cuda, {});
    r.op = op.name;
    for (auto &f : r.failures)
        std::printf("    %s\n", f.c_str());
    return r;
}

TEST(CudaCheck, PassesASoundReduction) {
    const Report r = run(registered<SoundSums>());
    EXPECT_THAT(r.failures, IsEmpty());
    EXPECT_GT(r.passed, 3) << "samples, special values and exact mode";
}

TEST(CudaCheck, FindsARaceOfAReduction) {
    const Report r = run(registered<RacyGpuSums>());
    EXPECT_THAT(r.failures,
                Contains(AllOf(HasSubstr("cuda f32 'n=2 c=21': race in `total` update 0: "
                                         "allow_race_conditions()"),
                               HasSubstr("gpu_threads(ki) over a reduction, line "),
                               HasSubstr(", block (0,0,0), thread (5,0,0): 4 bytes at 0 of "
                                         "parameter 0, which has 8: another thread read it with "
                                         "no barrier between"))));
}

TEST(CudaCheck, FindsAReadBeyondATensor) {
    const Report r = run(registered<ReadsPast>());
    EXPECT_THAT(r.failures, Contains(AllOf(HasSubstr("'n=1 c=1': access out of bounds in `total` "
                                                     "update 0: gpu_blocks(n), gpu_threads(ni), "),
                                           HasSubstr(": 4 bytes at 4 of parameter "),
                                           HasSubstr(", which has 4"))));
}

TEST(CudaCheck, FindsWrongNumbersThatNoSampleHas) {
    const Report r = run(registered<WrongAtTwoNumbers>());
    EXPECT_THAT(r.failures,
                Contains(AllOf(HasSubstr("'f32/cuda d0="), HasSubstr("is 0, expected 3:"))));
    EXPECT_THAT(r.failures, Contains(AllOf(HasSubstr("'bf16/cuda d0=1 d1=1 d2=65536 x:pitch every"),
                                           HasSubstr("is 0, expected "))));
}

// Halide's own PTX flushes subnormals here (dsl/gpu/exact_ptx.h).
TEST(CudaCheck, FloorAndCeilKeepSubnormals) {
    list_kit_ops();
    for (const auto &[name, below, above] :
         {std::tuple("floor", -1.0f, 0.0f), {"ceil", 0.0f, 1.0f}}) {
        const OpPtr op = op_table().make(name);
        EXPECT_THAT(run(*op).failures, IsEmpty());  // which also registers the kernel
        const Case c(*op, op->samples[0], "f32", 1);
        const std::vector<Tensor> x = {Tensor::from(std::vector<float>{-1e-40f, 1e-40f}, {2})};
        const Force force(host_isa(), "", "cuda");
        EXPECT_EQ(dispatch(c.registered, x, c.attrs)[0].to_vector<float>(),
                  (std::vector<float>{below, above}))
            << name;
    }
}

// Runs the kernels of every op, which takes minutes, if HALYARD_ALL_PTX is set, else those
// of every 16th op.
TEST(CudaCheck, OpsGiveWhatTheirReferencesGive) {
    list_kit_ops();
    const int step = std::getenv("HALYARD_ALL_PTX") ? 1 : 16;
    int pairs = 0, ran = 0, seen = 0, samples = 0;
    OpTable of_kit;  // without the ops of the tests above
    list_all_ops(of_kit);
    for (const std::string &name : of_kit.names()) {
        const OpPtr op = op_table().make(name);
        const auto of_op = std::ranges::count_if(
            op->dtypes, [&](const std::string &dtypes) { return gpu::has_kernel(*op, dtypes); });
        pairs += int(of_op);
        if (of_op == 0 || library().find(name)->kernels.empty() || seen++ % step != 0) continue;
        const Report r = run(*op);
        EXPECT_THAT(r.failures, IsEmpty()) << name;
        ran += int(of_op);
        samples += r.passed;
    }
    std::printf("[PTX machine] %d of %d op x dtype pairs ran, %d results\n", ran, pairs, samples);
    EXPECT_GE(ran, pairs / step / 2);
}

}  // namespace
}  // namespace halyard::check
