#include "dsl/gpu/gpu_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"
#include "dsl/lower.h"
#include "primitives/library.h"
#include "registry/base/temporary_folder.h"
#include "tools/check/check.h"

namespace halyard {
namespace {

bool is_registered(const std::string &op, const std::string &dtypes) {
    for (const KernelEntry &k : library().at(op).kernels)
        if (k.backend == "opencl" && k.dtypes == dtypes) return true;
    return false;
}

// An op without a schedule for a GPU: means of rows, and y, which needs them.
struct Centered : Op {
    Centered() : Op("test_centered", "x[n,c] -> y[n,c] mean[n]") { dtypes = {"f32", "f64", "i32"}; }
    Func x = input("x");
    Func y = output("y"), mean = output("mean");
    Func sum{"sum"};
    Var j{"j"}, n{"n"};

    void algorithm(const Build &build) override {
        was_for_gpu = build.on_gpu;
        const RDom k(0, size("c"));
        sum(n) += x(k, n);
        mean(n) = sum(n) / math::real(size("c"));
        y(j, n) = x(j, n) - mean(n);
    }
    void reference(Problem &) const override {}
    bool was_for_gpu = false;
};

TEST(GpuKernels, EveryOpHasThemForF32AndIntegers) {
    list_kit_ops();
    int pairs = 0;
    for (const std::string &name : op_table().names()) {
        const OpPtr op = op_table().make(name);
        for (const std::string &dtypes : op->dtypes) {
            const std::string why = gpu::no_kernel_reason(*op, dtypes);
            if (op->form != Form::composite) {
                EXPECT_EQ(is_registered(name, dtypes), why.empty())
                    << name << " " << dtypes << ": " << why;
            }
            pairs += why.empty() ? 1 : 0;
        }
    }
    EXPECT_GE(pairs, 280);
}

TEST(GpuKernels, AnOpWithoutAScheduleIsDistributedOverThreads) {
    Instance i;
    i.backend = "opencl";
    i.dtypes = "f32";
    Kernel kernel(std::make_unique<Centered>(), i);
    EXPECT_TRUE(static_cast<const Centered &>(*kernel.op).was_for_gpu);
    const TemporaryFolder folder("halyard_gpu_kernels");
    const std::string text = text_of(kernel, "opencl", (folder.path / "scratch").string());
    // Those of y, and of mean with its sum.
    size_t kernels = 0;
    for (size_t at = 0; (at = text.find("__kernel void _kernel", at)) != std::string::npos; at++)
        kernels++;
    EXPECT_EQ(kernels, 2U) << text;
}

TEST(GpuKernels, OfHalfFloatsGiveWhatReferencesGive) {
    list_kit_ops();
    for (const char *name : {"relu", "softmax", "matmul", "reduce_sum", "max_pool2d_dx"}) {
        const OpPtr op = op_table().make(name);
        const check::Report r = check::run_check(*op, "device", check::check_device, {});
        EXPECT_THAT(r.failures, testing::IsEmpty()) << name;
        if (r.skipped > 0) GTEST_SKIP() << "no OpenCL device";
        EXPECT_GE(r.passed, int(3 * op->samples.size())) << name << ": f32, f16 and bf16";
    }
}

TEST(GpuKernels, ReasonsForNone) {
    const Centered op;
    EXPECT_EQ(gpu::no_kernel_reason(op, "f32"), "");
    EXPECT_EQ(gpu::no_kernel_reason(op, "f64"), "few GPUs compute f64 faster than the CPU does");
    EXPECT_EQ(gpu::no_kernel_reason(op, "i32,bf16"), "its dtypes are f32, f64, i32");
}

}  // namespace
}  // namespace halyard
