#include "registry/dispatch.h"
#include "registry/explain.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "primitives/library.h"
#include "primitives/ops.h"
#include "registry/plan.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

TEST(Dispatch, AddsWithBroadcasting) {
    const Tensor a = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}), b = Tensor::from<float>({10, 20, 30}, {3});
    const Tensor y = F::add(a, b);
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{11, 22, 33, 14, 25, 36}));
    EXPECT_EQ(F::add(a.transpose({1, 0}), 1).to_vector<float>(), (std::vector<float>{2, 5, 3, 6, 4, 7}));
}

TEST(Dispatch, SoftmaxAlongAnyAxis) {
    const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
    for (int axis : {0, 1, -1}) {
        const Tensor y = F::softmax(x, axis);
        const int n = axis == 0 ? 2 : 3;
        for (int i = 0; i < (axis == 0 ? 3 : 2); i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += axis == 0 ? y.at({j, i}) : y.at({i, j});
            EXPECT_NEAR(sum, 1, 1e-6);
        }
    }
    EXPECT_THROW(F::softmax(x, 2), ShapeError);
}

TEST(Dispatch, ACachedAddIsCheap) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's time says nothing";
#endif
    const Tensor a = Tensor::ones({16}), b = Tensor::ones({16});
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        const auto from = std::chrono::steady_clock::now();
        for (int i = 0; i < 1000; i++) F::add(a, b);
        best = std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from).count() / 1000);
    }
    RecordProperty("nanoseconds", (int)best);
    std::printf("add of 16 elements: %.0f ns\n", best);
    EXPECT_LT(best, 2000);
}

TEST(Dispatch, SizesPastEveryLimitAreRefused) {
    const Tensor one = Tensor::scalar(1), column = one.expand({1 << 16, 1}), row = one.expand({1, 1 << 16});
    const std::string past = " has more than 2147483647 elements (sizes past 2^31 are not supported)";
    expect_error<ShapeError>("[add] shape [65536,65536]" + past, [&] { F::add(column, row); });
    const Tensor a = one.expand({1 << 30, 1, 1}), b = one.expand({1, 1 << 30, 1}), c = Tensor::scalar(1, DType::boolean).expand({1, 1, 1 << 30});
    expect_error<ShapeError>("[select] shape [1073741824,1073741824,1073741824]" + past, [&] { F::select(c, a, b); });
    expect_error<ShapeError>("[matmul] shape [65536,65536]" + past, [&] { F::matmul(column, row); });
    expect_error<ShapeError>("[matmul] shape [65536,65536]" + past, [&] { F::matmul(one.expand({1 << 16, 1, 1, 1}), one.expand({1 << 16, 1, 1})); });
    EXPECT_EQ(F::reduce_sum(one.expand({1 << 10, 1 << 10})).item(), 1 << 20) << "a view of one element";
}

TEST(Dispatch, BorrowedMemory) {
    std::vector<float> memory(100);
    for (size_t i = 0; i < memory.size(); i++) memory[i] = (float)i;
    const Tensor odd = Tensor::borrow(memory.data() + 1, {3, 2}, {7, 3}, DType::f32);  // aligned to an element, to no vector
    EXPECT_EQ(F::relu(odd).to_vector<float>(), (std::vector<float>{1, 4, 8, 11, 15, 18}));
    EXPECT_EQ(F::reduce_sum(odd).item(), 57);
    EXPECT_EQ(F::relu(Tensor::borrow(nullptr, {0, 2}, {2, 1}, DType::f32).slice(1, 1, 2)).shape(), Shape({0, 1}));
}

// What a fresh process plans with HALYARD_ISA: the level of the kernel, or 100 and more for errors.
int level_with(const char *isa) {
    setenv("HALYARD_ISA", isa, 1);
    const RegisteredOp &op = library().at("relu");
    const OperandMeta meta = meta_of(Tensor::ones({1000}));
    try {
        return (int)make_plan(op, {&meta, 1}, Attrs(op.record)).kernel->isa;
    } catch (const DispatchError &e) {
        const std::string what = e.what(), host = name_of(host_isa());
        if (what == "[isa] HALYARD_ISA is " + std::string(isa) + ", this CPU has up to " + host) return 100;
        return what.find(std::string(", limited to ") + isa) != std::string::npos ? 101 : 102;
    } catch (const AttrError &e) { return std::string(e.what()) == "[isa] '" + std::string(isa) + "', expected baseline, avx2 or avx512" ? 103 : 104; }
}

TEST(DispatchDeathTest, TheEnvironmentLimitsTheInstructionSet) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (int i = 0; i < isa_count; i++) {
        int expected = i > (int)host_isa() ? 100 : 101;  // 101: the build has no kernels up to this level
        if (i <= (int)host_isa())
            for (const KernelEntry &k : library().at("relu").kernels)
                if (k.backend == "cpu" && (int)k.isa <= i) expected = expected == 101 ? (int)k.isa : std::max(expected, (int)k.isa);
        EXPECT_EXIT(std::exit(level_with(name_of((Isa)i))), testing::ExitedWithCode(expected), "") << name_of((Isa)i);
    }
    EXPECT_EXIT(std::exit(level_with("sse4")), testing::ExitedWithCode(103), "");
}

TEST(Dispatch, WhereALevelLacksADtypeTheOneBelowStandsForIt) {
    const Force force(host_isa(), "");
    const Tensor a = Tensor::from<double>({1, 2, 3}, {3});
    EXPECT_EQ(F::add(a, a).to_vector<double>(), (std::vector<double>{2, 4, 6}));
}

// The baseline has kernels of f32 for arithmetic on 16-bit floats; conversions are exact one way and round once the other.
TEST(Dispatch, SixteenBitFloatsOfTheBaselineAreComputedInF32) {
    const Force force(Isa::baseline, "");
    for (const DType half : {DType::f16, DType::bf16}) {
        const Tensor x = Tensor::from<double>({0.5, -1.25, 3, 1000, -7, 0.1}, {2, 3}).to(half), columns = x.transpose({1, 0});
        const OperandMeta meta = meta_of(x);
        EXPECT_EQ(make_plan(library().at("softmax"), {&meta, 1}, Attrs(library().at("softmax").record)).kernel, nullptr);
        EXPECT_EQ(F::softmax(x).dtype(), half);
        EXPECT_EQ(F::softmax(x).to_vector<double>(), F::softmax(x.to(DType::f32)).to(half).to_vector<double>());
        EXPECT_EQ(F::gelu(columns).to_vector<double>(), F::gelu(columns.to(DType::f32)).to(half).to_vector<double>());
        EXPECT_EQ(F::reduce_mean(x, {0}).to_vector<double>(), F::reduce_mean(x.to(DType::f32), {0}).to(half).to_vector<double>());
    }
    const Tensor x = Tensor::ones({2}).to(DType::f16), in[] = {x};
    EXPECT_NE(explain(library().at("gelu"), in, Attrs(library().at("gelu").record)).find("computed in f32"), std::string::npos);
}

TEST(Explain, NamesTheChoiceAndTheRefused) {
    const Tensor a = Tensor::ones({16});
    const Tensor in[] = {a, a};
    const RegisteredOp &op = library().at("add");
    const std::string text = explain(op, in, Attrs(op.record));
    EXPECT_NE(text.find("-> cpu f32"), std::string::npos) << text;
    std::printf("%s", text.c_str());
}

}  // namespace
}  // namespace halyard
