// Tensors that stay on a GPU between calls: results don't depend on it, and copies are counted.
#include "registry/gpu/resident.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "primitives/context.h"
#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/dispatch.h"

namespace halyard {
namespace {

using Numbers = std::vector<float>;

class ResidentTest : public testing::Test {
protected:
    void SetUp() override {
        if (opencl_devices() == 0) GTEST_SKIP() << "no OpenCL device";
        set_context({.mode = PYNATIVE_MODE, .device_target = "GPU"});
    }
    void TearDown() override { set_context({.mode = mode_before_, .device_target = "CPU"}); }

    // Returns what f() made the device do.
    static gpu::Counters counted(const std::function<void()> &f) {
        const gpu::Counters before = gpu::gpu("opencl").counters();
        f();
        gpu::Counters after = gpu::gpu("opencl").counters();
        after.uploads -= before.uploads;
        after.downloads -= before.downloads;
        after.downloaded_bytes -= before.downloaded_bytes;
        after.copies -= before.copies;
        after.launches -= before.launches;
        after.driver_allocations -= before.driver_allocations;
        after.live_bytes -= before.live_bytes;
        return after;
    }

private:
    const ExecutionMode mode_before_ = get_context().mode;
};

TEST_F(ResidentTest, AChainCopiesItsInputAndItsResult) {
    const gpu::Counters c = counted([] {
        const Tensor x = Tensor::from<float>({-1, 0, 2});
        const Tensor y = F::square(F::add(F::relu(x), x));
        EXPECT_EQ(y.to_vector<float>(), (Numbers{1, 0, 16}));
        EXPECT_EQ(y.at({2}), 16);
    });
    EXPECT_EQ(c.uploads, 1);
    EXPECT_EQ(c.downloads, 1);
    EXPECT_EQ(c.launches, 3);
    EXPECT_EQ(c.live_bytes, 0) << "released with their tensors";
}

TEST_F(ResidentTest, TheSameStepAllocatesNothingTheSecondTime) {
    const Tensor x = Tensor::full({100, 7}, 0.5);
    const auto step = [&] { F::reduce_sum(F::exp(x)).item(); };
    step();
    const gpu::Counters c = counted(step);
    EXPECT_EQ(c.driver_allocations, 0);
    EXPECT_EQ(c.uploads, 0);
    EXPECT_EQ(c.downloads, 1);
}

TEST_F(ResidentTest, TheHostsWritesReachTheDevice) {
    const Tensor x = Tensor::from<float>({1, 2, 3});
    EXPECT_EQ(F::neg(x).at({0}), -1);
    x.set({0}, 5);
    EXPECT_EQ(F::neg(x).at({0}), -5);
    x.fill(7);
    EXPECT_EQ(F::neg(x).at({2}), -7);
    x.assign(Tensor::from<float>({8, 9, 10}));
    EXPECT_EQ(F::neg(x).at({2}), -10);
}

// Code of the host that has an address may use it at any time.
TEST_F(ResidentTest, AnAddressStaysGood) {
    const Tensor x = Tensor::from<float>({1, 2, 3});
    const Tensor y = Tensor::empty({3});
    float *const from = x.data<float>();
    const float *const to = y.data<float>();
    const RegisteredOp &neg = find_op("neg");
    for (int k = 0; k < 3; k++) {
        from[1] = float(10 * k);
        dispatch_into(neg, {&x, 1}, Attrs(neg.record), {&y, 1});
        EXPECT_EQ(to[1], -float(10 * k));
    }
    x.forget_addresses();
    const gpu::Counters c = counted([&] {
        F::neg(x);
        F::neg(x);
    });
    EXPECT_EQ(c.uploads, 1);
}

TEST_F(ResidentTest, BorrowedMemoryIsTheCallers) {
    Numbers own = {1, 2, 3};
    const Tensor x = Tensor::borrow(own.data(), {3}, {1}, DType::f32);
    x.forget_addresses();  // isn't the tensor's to promise
    EXPECT_EQ(F::neg(x).at({0}), -1);
    own[0] = 4;
    EXPECT_EQ(F::neg(x).at({0}), -4);
}

TEST_F(ResidentTest, ViewsBeginAnywhereInTheirMemory) {
    Numbers numbers(5 * 7);
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = float(i);
    const Tensor x = F::add(Tensor::from(numbers, {5, 7}), 0.0);
    const gpu::Counters c = counted([&] {
        const Tensor row = F::neg(x.slice(0, 3, 4));
        const Tensor part = F::neg(x.slice(1, 2, 5));
        const Tensor columns = F::neg(x.transpose({1, 0}));
        const Tensor fives = F::neg(x.slice(0, 1, 2).expand({2, 7}));
        EXPECT_EQ(F::reduce_sum(row).item(), -(21 + 22 + 23 + 24 + 25 + 26 + 27));
        EXPECT_EQ(part.at({4, 2}), -32);
        EXPECT_EQ(columns.at({6, 4}), -34);
        EXPECT_EQ(fives.at({1, 6}), -13);
    });
    EXPECT_EQ(c.uploads, 0) << "views are of the device's memory";
    EXPECT_EQ(c.downloads, 4) << "one for each result that is looked at";
}

TEST_F(ResidentTest, CopiesStayOnTheDevice) {
    const Tensor x = F::add(Tensor::from<float>({0, 1, 2, 3, 4, 5}).reshape({2, 3}), 0.0);
    const gpu::Counters c = counted([&] {
        const Tensor same = x.copy();
        const Tensor turned = x.transpose({1, 0}).copy();
        const Tensor target = Tensor::empty({3});
        target.assign(x.slice(0, 1, 2).reshape({3}));
        EXPECT_EQ(F::add(F::add(same, turned.reshape({2, 3})), target).to_vector<float>(),
                  (Numbers{3, 8, 8, 10, 10, 15}));
    });
    EXPECT_EQ(c.uploads, 0);
    EXPECT_EQ(c.downloads, 1);
}

TEST_F(ResidentTest, TheCpuTakesOverInBetween) {
    const Tensor x = F::add(Tensor::from<float>({1, 2, 3}), 1.0);
    const Tensor wide = F::square(x.to(DType::f64));  // there are no kernels for f64
    const Tensor back = F::neg(wide.to(DType::f32));
    EXPECT_EQ(back.to_vector<float>(), (Numbers{-4, -9, -16}));
    set_context({.device_target = "CPU"});
    EXPECT_EQ(F::neg(back).to_vector<float>(), (Numbers{4, 9, 16}));
    set_context({.device_target = "GPU"});
    EXPECT_EQ(F::neg(back).to_vector<float>(), (Numbers{4, 9, 16}));
}

TEST_F(ResidentTest, AnUpdateInPlaceIsSeenByViews) {
    const Tensor w = F::add(Tensor::from<float>({1, 2, 3, 4}), 0.0);
    const Tensor second_half = w.slice(0, 2, 4);
    const RegisteredOp &neg = find_op("neg");
    dispatch_into(neg, {&second_half, 1}, Attrs(neg.record), {&second_half, 1});
    EXPECT_EQ(w.to_vector<float>(), (Numbers{1, 2, -3, -4}));
    EXPECT_EQ(F::neg(w).to_vector<float>(), (Numbers{-1, -2, 3, 4}));
}

TEST_F(ResidentTest, ThreadsReadTheSameTensor) {
    const Tensor x = Tensor::full({1000}, 2);
    std::vector<double> sums(8);
    std::vector<std::thread> threads;
    for (size_t k = 0; k < sums.size(); k++)
        threads.emplace_back([&, k] { sums[k] = F::reduce_sum(F::square(x)).item(); });
    for (std::thread &t : threads)
        t.join();
    for (const double sum : sums)
        EXPECT_EQ(sum, 4000);
}

TEST_F(ResidentTest, LoopsAroundAKernelRunOnTheDevice) {
    // b is broadcast over the batch with stride 0, so products are loops around a kernel.
    const Tensor a = F::add(Tensor::full({3, 2, 4}, 2), 0.0);
    const Tensor b = F::add(Tensor::full({4, 5}, 3), 0.0);
    const gpu::Counters c = counted([&] {
        const Tensor y = F::matmul(a, b);
        EXPECT_EQ(y.at({2, 1, 4}), 24);
    });
    EXPECT_EQ(c.uploads, 0);
    EXPECT_EQ(c.downloads, 1);
}

}  // namespace
}  // namespace halyard
