#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/explain.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cross_entropy.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/select.h"
#include "primitives/ops/softmax.h"
#include "primitives/ops/unary.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "tests/registry/expect_error.h"
#include "tests/registry/has_kernels.h"

namespace halyard {
namespace {

TEST(Dispatch, AddsWithBroadcasting) {
    const Tensor a = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}),
                 b = Tensor::from<float>({10, 20, 30}, {3});
    const Tensor y = F::add(a, b);
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{11, 22, 33, 14, 25, 36}));
    EXPECT_EQ(F::add(a.transpose({1, 0}), 1).to_vector<float>(),
              (std::vector<float>{2, 5, 3, 6, 4, 7}));
}

TEST(Dispatch, SoftmaxAlongAnyAxis) {
    const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
    for (int axis : {0, 1, -1}) {
        const Tensor y = F::softmax(x, axis);
        const int n = axis == 0 ? 2 : 3;
        for (int i = 0; i < (axis == 0 ? 3 : 2); i++) {
            double sum = 0;
            for (int j = 0; j < n; j++)
                sum += axis == 0 ? y.at({j, i}) : y.at({i, j});
            EXPECT_NEAR(sum, 1, 1e-6);
        }
    }
    EXPECT_THROW(F::softmax(x, 2), ShapeError);
}

TEST(Dispatch, CachedAddIsFast) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's time says nothing";
#endif
    const Tensor a = Tensor::ones({16}), b = Tensor::ones({16});
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        const auto from = std::chrono::steady_clock::now();
        for (int i = 0; i < 1000; i++)
            F::add(a, b);
        best = std::min(
            best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from)
                          .count() /
                      1000);
    }
    RecordProperty("nanoseconds", int(best));
    std::printf("add of 16 elements: %.0f ns\n", best);
    EXPECT_LT(best, 2000);
}

TEST(Dispatch, RejectsSizesAboveLimits) {
    const Tensor one = Tensor::scalar(1);
    const Tensor column = one.expand({1 << 16, 1});
    const Tensor row = one.expand({1, 1 << 16});
    const std::string past =
        " has more than 2147483647 elements (sizes past 2^31 are not supported)";
    expect_error<ShapeError>("[add] shape [65536,65536]" + past, [&] { F::add(column, row); });
    const Tensor a = one.expand({1 << 30, 1, 1});
    const Tensor b = one.expand({1, 1 << 30, 1});
    const Tensor c = Tensor::scalar(1, DType::boolean).expand({1, 1, 1 << 30});
    expect_error<ShapeError>("[select] shape [1073741824,1073741824,1073741824]" + past,
                             [&] { F::select(c, a, b); });
    expect_error<ShapeError>("[matmul] shape [65536,65536]" + past,
                             [&] { F::matmul(column, row); });
    expect_error<ShapeError>("[matmul] shape [65536,65536]" + past, [&] {
        F::matmul(one.expand({1 << 16, 1, 1, 1}), one.expand({1 << 16, 1, 1}));
    });
    EXPECT_EQ(F::reduce_sum(one.expand({1 << 10, 1 << 10})).item(), 1 << 20)
        << "a view of one element";
}

TEST(Dispatch, BorrowedMemory) {
    std::vector<float> memory(100);
    for (size_t i = 0; i < memory.size(); i++)
        memory[i] = float(i);
    // The memory is aligned to an element but to no vector.
    const Tensor odd = Tensor::borrow(memory.data() + 1, {3, 2}, {7, 3}, DType::f32);
    EXPECT_EQ(F::relu(odd).to_vector<float>(), (std::vector<float>{1, 4, 8, 11, 15, 18}));
    EXPECT_EQ(F::reduce_sum(odd).item(), 57);
    EXPECT_EQ(F::relu(Tensor::borrow(nullptr, {0, 2}, {2, 1}, DType::f32).slice(1, 1, 2)).shape(),
              Shape({0, 1}));
}

// Returns the level of the kernel that a fresh process selects with HALYARD_ISA, or 100 and more
// for errors.
int level_with(const char *isa) {
    setenv("HALYARD_ISA", isa, 1);
    const RegisteredOp &op = library().at("relu");
    const OperandMeta meta = meta_of(Tensor::ones({1000}));
    try {
        return int(make_plan(op, {&meta, 1}, Attrs(op.record)).kernel->isa);
    } catch (const DispatchError &e) {
        const std::string what = e.what();
        const std::string host = name_of(host_isa());
        if (what == "[isa] HALYARD_ISA is " + std::string(isa) + ", this CPU has up to " + host)
            return 100;
        return what.find(std::string(", limited to ") + isa) != std::string::npos ? 101 : 102;
    } catch (const AttrError &e) {
        return std::string(e.what()) ==
                       "[isa] '" + std::string(isa) + "', expected baseline, avx2, avx512 or neon"
                   ? 103
                   : 104;
    }
}

TEST(DispatchDeathTest, TheEnvironmentLimitsTheInstructionSet) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (int i = 0; i < isa_count; i++) {
        // 101 means that the build has no kernels up to this level.
        int expected = host_runs(Isa(i)) ? 101 : 100;
        if (host_runs(Isa(i))) {
            for (const KernelEntry &k : library().at("relu").kernels) {
                if (k.backend == "cpu" && int(k.isa) <= i)
                    expected = expected == 101 ? int(k.isa) : std::max(expected, int(k.isa));
            }
        }
        EXPECT_EXIT(std::exit(level_with(name_of((Isa)i))), testing::ExitedWithCode(expected), "")
            << name_of((Isa)i);
    }
    EXPECT_EXIT(std::exit(level_with("sse4")), testing::ExitedWithCode(103), "");
}

TEST(Dispatch, FallsBackToTheLevelBelowForADtype) {
    const Force force(host_isa(), "");
    const Tensor a = Tensor::from<double>({1, 2, 3}, {3});
    EXPECT_EQ(F::add(a, a).to_vector<double>(), (std::vector<double>{2, 4, 6}));
}

// On the baseline, kernels of f32 compute on 16-bit floats. Conversions to f32 are exact and those
// from f32 round once.
TEST(Dispatch, SixteenBitFloatsOfTheBaselineAreComputedInF32) {
    if (!has_kernels(Isa::baseline)) GTEST_SKIP() << "this build has none of the baseline";
    if (!has_kernels(Isa::avx2)) GTEST_SKIP() << "all kernels of this build are of the baseline";
    const Force force(Isa::baseline, "");
    for (const DType half : {DType::f16, DType::bf16}) {
        const Tensor x = Tensor::from<double>({0.5, -1.25, 3, 1000, -7, 0.1}, {2, 3}).to(half);
        const Tensor columns = x.transpose({1, 0});
        const OperandMeta meta = meta_of(x);
        EXPECT_EQ(
            make_plan(library().at("softmax"), {&meta, 1}, Attrs(library().at("softmax").record))
                .kernel,
            nullptr);
        EXPECT_EQ(F::softmax(x).dtype(), half);
        EXPECT_EQ(F::softmax(x).to_vector<double>(),
                  F::softmax(x.to(DType::f32)).to(half).to_vector<double>());
        EXPECT_EQ(F::gelu(columns).to_vector<double>(),
                  F::gelu(columns.to(DType::f32)).to(half).to_vector<double>());
        EXPECT_EQ(F::reduce_mean(x, {0}).to_vector<double>(),
                  F::reduce_mean(x.to(DType::f32), {0}).to(half).to_vector<double>());
    }
    const Tensor x = Tensor::ones({2}).to(DType::f16);
    const Tensor in[] = {x};
    EXPECT_NE(explain(library().at("gelu"), in, Attrs(library().at("gelu").record))
                  .find("computed in f32"),
              std::string::npos);
}

// Updates whole tensors, with a gradient of one element in each shape that broadcasts to all.
TEST(Dispatch, UpdatesTakeAGradientThatIsBroadcast) {
    for (const int64_t n : {8, 65536}) {
        const Tensor zero = Tensor::zeros({n});
        const Tensor g = Tensor::full({n}, 1);
        const std::vector<Tensor> want = Primitive("momentum_").run({zero, zero, g});
        EXPECT_FLOAT_EQ(float(want[0].at({n - 1})), -0.1f);
        for (const Tensor &one :
             {Tensor::full({1}, 1), Tensor::scalar(1), Tensor::scalar(1).expand({n})}) {
            const std::vector<Tensor> got = Primitive("momentum_").run({zero, zero, one});
            for (size_t k = 0; k < want.size(); k++) {
                EXPECT_EQ(got[k].to_vector<float>(), want[k].to_vector<float>())
                    << one.shape().text();
            }
            const Tensor p = zero.copy(), v = zero.copy();
            Primitive("momentum_").run_in_place({p, v, one});
            EXPECT_EQ(p.to_vector<float>(), want[0].to_vector<float>()) << one.shape().text();
        }
    }
}

TEST(Dispatch, BroadcastLabelsApplyToEveryRow) {
    std::vector<float> values;
    for (int i = 0; i < 256; i++)
        values.push_back(float(i % 7));
    const Tensor logits = Tensor::from<float>(values, {64, 4});
    const Tensor label = Tensor::full({1}, 2, DType::i32);
    const Tensor want = F::sparse_softmax_cross_entropy(logits, label.expand({64}).copy());
    EXPECT_EQ(F::sparse_softmax_cross_entropy(logits, label).to_vector<float>(),
              want.to_vector<float>());
    EXPECT_EQ(F::sparse_softmax_cross_entropy(logits.reshape({8, 8, 4}), label).to_vector<float>(),
              want.to_vector<float>());
}

// Kernels without any_strides are built for a dense dimension 0. Every plan has one, whichever
// operands are broadcast or strided.
TEST(Plan, PassesOnlySupportedStrides) {
    const RegisteredOp &op = library().at("momentum_");
    ASSERT_FALSE(op.record.any_strides);
    const Tensor p = Tensor::zeros({3, 4, 5});
    for (const Tensor &g : {Tensor::ones({1}), Tensor::ones({4, 1}), Tensor::ones({3, 1, 1}),
                            Tensor::ones({5}), Tensor::ones({5, 4, 3}).transpose({2, 1, 0})}) {
        const OperandMeta in[] = {meta_of(p), meta_of(p), meta_of(g)};
        const Plan plan = make_plan(op, in, Attrs(op.record));
        for (const Plan::Buffer &b : plan.inputs)
            EXPECT_EQ(b.dims[0].stride, 1) << g.shape().text();
        const Tensor tensors[] = {p, p, g};
        const std::string text = explain(op, tensors, Attrs(op.record));
        if (g.shape() == Shape({4, 1})) {
            EXPECT_NE(text.find("copies g: no kernel broadcasts it: [4,1] is expanded to [3,4,5]"),
                      std::string::npos)
                << text;
        }
    }
}

// An input without the group has only dimensions of its own, also where its broadcast view has to
// be copied because no kernel takes a stride of 0.
TEST(Plan, CopiesOfInputsWithoutTheGroupKeepTheirRank) {
    OpFile file;
    file.name = "test_ungrouped";
    OpRecord record;
    record.name = "test_ungrouped";
    record.signature = "dy[..n] w[c] -> dx[..n,c]";
    record.dtypes = {"f32"};
    file.ops.push_back(record);
    file.kernels.push_back({"test_ungrouped", "cpu", "f32", "", Isa::baseline, 4, {}, nullptr});
    Registry registry;
    registry.add({&file});
    const Tensor dy = Tensor::ones({2, 3, 4});
    // w is a broadcast view: five elements with a stride of 0.
    const OperandMeta metas[] = {meta_of(dy), {DType::f32, Shape{5}, Shape{0}}};
    const RegisteredOp &op = registry.at("test_ungrouped");
    const Plan plan = make_plan(op, metas, Attrs(op.record));
    ASSERT_EQ(plan.outputs.size(), 1u);
    EXPECT_EQ(plan.outputs[0].shape, (Shape{2, 3, 4, 5}));
    EXPECT_EQ(plan.inputs[1].rank, 1);
    EXPECT_EQ(plan.inputs[1].dims[0].stride, 1);
}

// A seed only becomes an argument of the kernel.
TEST(Plan, CallsThatDifferInScalarsShareAPlan) {
    const RegisteredOp &dropout = library().at("dropout_kernel"),
                       &reduce = library().at("reduce_sum");
    ASSERT_TRUE(dropout.shares_plans);
    EXPECT_FALSE(reduce.shares_plans);
    const Attrs one(dropout.record,
                    std::map<std::string, std::string>{{"seed_lo", "1"}, {"offset_lo", "8"}});
    const Attrs two(dropout.record,
                    std::map<std::string, std::string>{{"seed_lo", "2"}, {"offset_lo", "9"}});
    EXPECT_FALSE(one.plans_like(two));
    EXPECT_TRUE(one.plans_like(two, dropout.only_argument));
    EXPECT_EQ(one.hash(dropout.only_argument), two.hash(dropout.only_argument));
    const Tensor x = Tensor::ones({1000});
    const auto kept = [&](const Attrs &attrs) {
        return dispatch(dropout, {&x, 1}, attrs)[1].to_vector<int32_t>();
    };
    const std::vector<int32_t> first = kept(one);
    const std::vector<int32_t> second = kept(two);
    EXPECT_NE(first, second);
    EXPECT_EQ(kept(one), first);
    invalidate_plans();
    EXPECT_EQ(kept(two), second);
}

// Plans point to kernels, so registering a development kernel later must move none.
TEST(Registry, KernelsKeepTheirAddresses) {
    OpFile file;
    file.name = "test_stays";
    file.ops.push_back(library().at("relu").record);
    Registry registry;
    registry.add({&file});
    const RegisteredOp &op = registry.at("relu");
    std::vector<const KernelEntry *> before;
    for (int lanes = 1; lanes <= 40; lanes++) {
        registry.add_kernel(
            {"relu", "cpu", "f32", "", lanes % 2 ? Isa::baseline : Isa::avx2, lanes, {}, nullptr});
        for (const KernelEntry &k : op.kernels)
            if (k.lanes == lanes) before.push_back(&k);
    }
    ASSERT_EQ(before.size(), 40u);
    for (int lanes = 1; lanes <= 40; lanes++)
        EXPECT_EQ(before[size_t(lanes) - 1]->lanes, lanes);
}

// ThreadSanitizer would report a name that one thread reads while another writes it.
TEST(Registry, DeviceCanBeSetDuringCalls) {
    std::atomic<bool> ends = false;
    std::thread sets([&] {
        while (!ends)
            set_device("cpu");
    });
    const Tensor one = Tensor::ones({16});
    for (int call = 0; call < 1000; call++) {
        EXPECT_EQ(device(), "cpu");
        EXPECT_EQ(F::add(one, one).at({0}), 2);
    }
    ends = true;
    sets.join();
}

TEST(Explain, NamesTheSelectedAndTheRejectedKernels) {
    const Tensor a = Tensor::ones({16});
    const Tensor in[] = {a, a};
    const RegisteredOp &op = library().at("add");
    const std::string text = explain(op, in, Attrs(op.record));
    EXPECT_NE(text.find("-> cpu f32"), std::string::npos) << text;
    std::printf("%s", text.c_str());
}

}  // namespace
}  // namespace halyard
