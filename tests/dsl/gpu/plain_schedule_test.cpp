// Tests the schedule that ops have on a GPU unless they state their own: sums are trees, single
// ones and those in the components of a Tuple.
#include "dsl/gpu/plain_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "dsl/lower.h"
#include "primitives/library.h"
#include "registry/base/temporary_folder.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/planner.h"
#include "tools/check/check.h"
#include "tools/check/cuda_model.h"
#include "tools/gpu/cuda_kernels.h"

namespace halyard::check {
namespace {

// The sums of each row's elements and of their squares. A sum of 20,000 terms one after another has
// an error of about 20 ulps.
struct RowMoments : Op {
    RowMoments(const std::string &name, bool in_tuple)
        : Op(name, "x[n,c] -> first[n] second[n]"), in_tuple(in_tuple) {
        dtypes = {"f32"};
        contract = {Contract::normwise, 4};
        samples = {"n=1 c=1", "n=2 c=63", "n=2 c=64", "n=3 c=65", "n=2 c=4161", "n=8 c=20000"};
        let("x_least", "1");
    }
    const bool in_tuple;
    Func x = input("x");
    Func first = output("first"), second = output("second");
    Func sums{"sums"}, squares{"squares"};
    Var n{"n"};

    void algorithm() override {
        const RDom k(0, size("c"));
        const Expr v = x(k, n);
        if (in_tuple) {
            sums(n) = Halide::Tuple(0_r, 0_r);
            sums(n) = Halide::Tuple(sums(n)[0] + v, sums(n)[1] + v * v);
            first(n) = sums(n)[0];
            second(n) = sums(n)[1];
        } else {
            sums(n) += v;
            squares(n) += v * v;
            first(n) = sums(n);
            second(n) = squares(n);
        }
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t j = 0; j < p["c"]; j++) {
                const double v = p("x")(i, j);
                p("first")(i) += v;
                p("second")(i) += v * v;
            }
        }
    }
};
struct SingleSums : RowMoments {
    SingleSums() : RowMoments("single_sums", false) {}
};
struct TupleSums : RowMoments {
    TupleSums() : RowMoments("tuple_sums", true) {}
};

// Each output may overwrite either input.
struct Exchange : Op {
    Exchange() : Op("exchange_", "x[*] y[*] -> x_out[*] y_out[*]") {
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5", "d0=1 d1=1 d2=129"};
    }
    Func x = input("x"), y = input("y");
    Func x_out = output("x_out"), y_out = output("y_out");

    void algorithm() override {
        x_out(Halide::_) = y(Halide::_);
        y_out(Halide::_) = x(Halide::_);
    }
    void reference(Problem &p) const override {
        p("x_out").v = p("y").v;
        p("y_out").v = p("x").v;
    }
};

template<class T> std::vector<std::string> failures() {
    const T op;
    op_table().add<T>();
    static const OpFile file{"", {op}, {}};
    library().add({&file});
    const Report r = run_check(op, "cuda", check_cuda, {});
    EXPECT_GT(r.passed, 6) << "samples, special values and exact mode";
    return r.failures;
}

// Returns the number of the op's kernels in OpenCL C.
size_t kernels_of(OpPtr op) {
    Instance i;
    i.backend = "opencl";
    i.dtypes = "f32";
    i.variant = gpu::variants(*op).front();
    Kernel kernel(std::move(op), i);
    const TemporaryFolder folder("halyard_plain_schedule");
    const std::string text = text_of(kernel, "opencl", (folder.path / "scratch").string());
    size_t kernels = 0;
    for (size_t at = 0; (at = text.find("__kernel void _kernel", at)) != std::string::npos; at++)
        kernels++;
    return kernels;
}
template<class T> size_t kernels_of() {
    return kernels_of(std::make_unique<T>());
}

// What two outputs read is a kernel of its own.
TEST(PlainSchedule, ASumIsPartOfTheKernelOfItsOutput) {
    EXPECT_EQ(kernels_of<SingleSums>(), 2);
    EXPECT_EQ(kernels_of<TupleSums>(), 3);
}

TEST(PlainSchedule, OutputsOfOneShapeAreOneKernel) {
    EXPECT_EQ(kernels_of<Exchange>(), 1);
    EXPECT_THAT(failures<Exchange>(), testing::IsEmpty());
}

// A warp has a row, from its first reduction to its last element.
TEST(PlainSchedule, RowsAreOneKernel) {
    list_kit_ops();
    for (const char *name :
         {"softmax", "log_softmax_dx", "layer_norm_kernel", "softmax_cross_entropy", "reduce_max"})
        EXPECT_EQ(kernels_of(op_table().make(name)), 1) << name;
}

// Returns the variant of the CUDA kernel that a call gets.
std::string variant_for(const std::string &name, const std::string &sample) {
    const Case c(*op_table().make(name), sample, "f32", 6);
    const std::vector<OperandMeta> metas = metas_of(c.in);
    const Force force(host_isa(), "", "cuda");
    return make_plan(c.registered, metas, c.attrs).kernel->variant;
}

TEST(GpuVariants, AreChosenByTheirConditions) {
    list_kit_ops();
    open_cuda_model();
    make_cuda_kernels();
    EXPECT_EQ(variant_for("reduce_sum", "o=1 r=1 i=3 s=17 axis=1,3"), "warps");
    EXPECT_EQ(variant_for("reduce_sum", "o=2 r=1 i=1 s=16411 axis=1,3"), "chunks");
    EXPECT_EQ(variant_for("reduce_sum", "o=1 r=31 i=33 s=1 axis=1,3"), "columns_by_threads");
    const Case c(*op_table().make("reduce_sum"), "o=1 r=31 i=33 s=1 axis=1,3", "f32", 6);
    const Force force(host_isa(), "warps", "cuda");
    EXPECT_THROW(dispatch(c.registered, c.in, c.attrs), DispatchError);
}

// Returns the bytes that a call moves on the PTX machine, in whole sectors, over those of its
// tensors. Without `variant` dispatch chooses one.
double traffic(const std::string &name, const std::string &sample,
               const std::string &variant = "") {
    open_cuda_model();
    make_cuda_kernels();
    const Case c(*op_table().make(name), sample, "f32", 6);
    const Force force(host_isa(), variant, "cuda");
    double bytes = 0;
    for (const Tensor &t : c.in)
        bytes += double(t.bytes());
    cuda_bytes_moved();
    for (const Tensor &t : dispatch(c.registered, c.in, c.attrs))
        bytes += double(t.bytes());
    return cuda_bytes_moved() / bytes;
}

TEST(PlainSchedule, RowsColumnsAndMapsMoveLittleMoreThanTheirTensors) {
    list_kit_ops();
    EXPECT_LE(traffic("relu", "d0=1 d1=1 d2=65536"), 1.1);
    EXPECT_LE(traffic("add", "d0=1 d1=1 d2=65536"), 1.1);
    EXPECT_LE(traffic("reduce_sum", "o=1 r=1 i=128 s=1024 axis=1,3"), 1.1) << "rows";
    EXPECT_LE(traffic("reduce_max", "o=1 r=1 i=2048 s=1024 axis=1,3"), 1.1) << "rows";
    EXPECT_LE(traffic("reduce_sum", "o=1 r=512 i=1024 s=1 axis=1,3"), 1.1) << "columns";
    EXPECT_LE(traffic("reduce_sum", "o=1 r=4096 i=256 s=1 axis=1,3"), 1.1) << "long columns";
    EXPECT_LE(traffic("reduce_sum", "o=1 r=1 i=2 s=262144 axis=1,3"), 1.1) << "long rows";
    // x is read for the maximum, for the sum, and for the result.
    EXPECT_LE(traffic("softmax", "n=64 c=1024"), 2.01);
}

// A thread with a tile of sums loads each number for several of them.
TEST(GpuVariants, TilesOfSumsMoveLessThanSumsOfThreads) {
    list_kit_ops();
    const std::string map = "n=2 c=36 h=31 w=33 o=37 u=2 v=2 pad_mode=same";
    for (const auto &[op, call, variant] :
         {std::tuple("matmul", std::string("g=1 m=720 k=16 n=736"), "thread_tiles"),
          std::tuple("matmul", std::string("g=1 m=64 k=260 n=132"), "thread_tiles_of_parts"),
          std::tuple("dense_kernel", std::string("g=1 m=64 k=260 n=132"), "thread_tiles_of_parts"),
          std::tuple("conv2d", map, "thread_tiles"), std::tuple("conv2d_dx", map, "thread_tiles"),
          std::tuple("conv2d_dweight", map, "thread_tiles")}) {
        EXPECT_EQ(variant_for(op, call), variant) << op;
        EXPECT_LE(traffic(op, call), traffic(op, call, "thread_sums") / 1.5) << op;
    }
}

TEST(PlainSchedule, SumsAreTrees) {
    EXPECT_THAT(failures<SingleSums>(), testing::IsEmpty());
}
TEST(PlainSchedule, SumsInATupleAreTrees) {
    EXPECT_THAT(failures<TupleSums>(), testing::IsEmpty());
}

// Rows that are longer than those of the op's samples.
TEST(PlainSchedule, LongRowsOfLayerNormKeepItsBound) {
    list_kit_ops();
    const OpPtr op = op_table().make("layer_norm_kernel");
    EXPECT_THAT(run_check(*op, "cuda", check_cuda, {}).failures, testing::IsEmpty());
    Case c(*op, "n=131 c=8192", "f32", 6);
    c.solve(*op);
    const Force force(host_isa(), "", "cuda");
    const Tensor y = dispatch(c.registered, c.in, c.attrs)[0];
    EXPECT_EQ(compare(*op, "y", y, c.problem), "");
}

}  // namespace
}  // namespace halyard::check
