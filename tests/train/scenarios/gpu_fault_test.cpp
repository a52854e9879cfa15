// Each call of a training step to CUDA's driver fails in turn: the error is typed, nothing leaks,
// and the step has an undisturbed run's bits when it is made again.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/wrap.h"
#include "primitives/context.h"
#include "primitives/ops/unary.h"
#include "registry/dispatch/cuda_driver.h"
#include "registry/gpu/gpu.h"
#include "tests/registry/expect_error.h"
#include "tests/train/cuda_model.h"
#include "tests/train/hash_weights.h"

namespace halyard {
namespace {

using testing_inputs::hash_uniform;
using Numbers = std::vector<float>;

constexpr int cuda_out_of_memory = 2, cuda_illegal_address = 700;

// A step of a small network, from the same weights each time.
class Step {
public:
    Step() { step_.set_train(); }
    // Returns the loss and the weights after two steps; the second begins with between().
    Numbers run(const std::function<void()> &between) const {
        set_state();
        step_(x_.copy(), y_.copy());
        between();
        Numbers all = {step_(x_.copy(), y_.copy()).item<float>()};
        for (const Parameter &p : net_.trainable_params())
            for (const float w : p.data().to_vector<float>())
                all.push_back(w);
        return all;
    }

private:
    void set_state() const {
        testing_inputs::set_hash_weights(net_);
        for (const Parameter &p : optimizer_.get_parameters())
            if (p.name().starts_with("moments")) p.data().fill(0);
    }

    const nn::Dense net_{5, 3, "normal", "zeros"};
    const nn::Momentum optimizer_{net_.trainable_params(), 0.1, 0.9};
    const nn::TrainOneStepCell step_{nn::WithLossCell(net_, nn::MSELoss()), optimizer_};
    const Tensor x_ = hash_uniform({4, 5}, 1), y_ = hash_uniform({4, 3}, 2);
};

class GpuFault : public testing::Test {
protected:
    void SetUp() override {
        testing_inputs::use_cuda_model();
        set_context({.mode = PYNATIVE_MODE});
    }
    void TearDown() override { set_device("cpu"); }

    static int64_t calls() {
        return reinterpret_cast<int64_t (*)()>(cuda_symbol("halyard_cuda_model_calls"))();
    }
    static void fail(int64_t call, int result) {
        using Fail = void (*)(int64_t, int);
        reinterpret_cast<Fail>(cuda_symbol("halyard_cuda_model_fail"))(call, result);
    }
    // Returns the driver's calls in the second step.
    static int64_t calls_of_a_step(const Step &step) {
        int64_t before = 0;
        step.run([&] { before = calls(); });
        return calls() - before;
    }
};

TEST_F(GpuFault, ABadAccessIsADeviceErrorAndTheDeviceIsOpenedAgain) {
    const int64_t live = gpu::gpu("cuda").counters().live_bytes;
    {
        const Step step;
        const Numbers undisturbed = step.run([] {});
        const int64_t count = calls_of_a_step(step);
        ASSERT_GE(count, 20);
        for (int64_t call = 1; call <= count; call++) {
            EXPECT_THROW(step.run([&] { fail(call, cuda_illegal_address); }), DeviceError) << call;
            EXPECT_EQ(step.run([] {}), undisturbed) << "after call " << call << " failed";
        }
    }
    EXPECT_EQ(gpu::gpu("cuda").counters().live_bytes, live);
}

// Kept blocks are returned to the driver, and the call is made again.
TEST_F(GpuFault, MemoryIsAskedForAgain) {
    const Step step;
    const Numbers undisturbed = step.run([] {});
    const int64_t count = calls_of_a_step(step);
    for (int64_t call = 1; call <= count; call++)
        EXPECT_EQ(step.run([&] { fail(call, cuda_out_of_memory); }), undisturbed) << call;
}

TEST_F(GpuFault, NumbersThatOnlyTheDeviceHadAreLostAndSaySo) {
    const Tensor x = Tensor::full({3}, 2.0);
    const Tensor y = F::square(x);
    fail(1, cuda_illegal_address);
    EXPECT_THROW(F::square(x), DeviceError);
    expect_error<DeviceError>("[tensor] its 12 bytes were on a device that has been closed since",
                              [&] { y.at({0}); });
    EXPECT_EQ(x.at({0}), 2) << "the host's numbers stay";
    EXPECT_EQ(F::square(x).at({0}), 4);
}

}  // namespace
}  // namespace halyard
