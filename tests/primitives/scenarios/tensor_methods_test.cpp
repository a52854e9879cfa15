// Tests that results of a tensor's methods under a tape have gradients, like those of the functions
// of the same names.
#include "primitives/autograd/views.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/indexing.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/softmax.h"
#include "tests/primitives/gradient_check.h"

namespace halyard {
namespace {

using Tensors = std::vector<Tensor>;

// Multiplies f(x) by itself and by constants, so that gradients depend on the elements and on their
// new positions.
void gradient_through(const Tensor &x, const std::function<Tensor(const Tensor &)> &method) {
    const Tensor weights = numbers(method(x).shape(), 7);
    gradient_check(
        [&](const Tensors &in) { return F::mul(F::mul(method(in[0]), method(in[0])), weights); },
        {x});
}

TEST(TensorMethods, Reshape) {
    gradient_through(numbers({2, 3}), [](const Tensor &x) { return x.reshape({3, 2}); });
    gradient_through(numbers({2, 3, 4}), [](const Tensor &x) { return x.reshape({-1, 4}); });
    gradient_through(numbers({2, 3}), [](const Tensor &x) {
        return x.swap_axes(0, 1).reshape({3, 1, 2});
    });
}
TEST(TensorMethods, Transpose) {
    gradient_through(numbers({2, 3, 4}), [](const Tensor &x) { return x.transpose({2, 0, 1}); });
    gradient_through(numbers({2, 3, 4}), [](const Tensor &x) { return x.transpose({-1, 1, 0}); });
}
TEST(TensorMethods, SwapAxes) {
    gradient_through(numbers({2, 3, 4}), [](const Tensor &x) { return x.swap_axes(0, -1); });
}
TEST(TensorMethods, Slice) {
    gradient_through(numbers({5, 3}), [](const Tensor &x) { return x.slice(0, 1, 4); });
    gradient_through(numbers({3, 8}), [](const Tensor &x) { return x.slice(-1, 1, 8, 3); });
    gradient_through(numbers({5, 3}), [](const Tensor &x) { return x.slice(0, 2, 2); });
}
TEST(TensorMethods, Expand) {
    gradient_through(numbers({3, 1}), [](const Tensor &x) { return x.expand({2, 3, 4}); });
}
TEST(TensorMethods, UnsqueezeAndSqueeze) {
    gradient_through(numbers({2, 3}), [](const Tensor &x) { return x.unsqueeze(1); });
    gradient_through(numbers({2, 1, 3}), [](const Tensor &x) { return x.squeeze(1); });
}
TEST(TensorMethods, CopyAndContiguous) {
    gradient_through(numbers({2, 3}), [](const Tensor &x) { return x.copy(); });
    gradient_through(numbers({2, 3}), [](const Tensor &x) { return x.contiguous(); });
    gradient_through(numbers({2, 3}),
                     [](const Tensor &x) { return x.swap_axes(0, 1).contiguous(); });
}

TEST(TensorMethods, To) {
    const Tensor x = numbers({2, 3});
    const Tensor sens = numbers({2, 3}, 5).to(DType::f32);
    Tape tape;
    tape.watch(x);
    const Tensor y = x.to(DType::f32);
    const Tensor whole = x.to(DType::i32);
    const Tensor dx = tape.gradient(y, {x}, sens)[0];
    EXPECT_EQ(dx.dtype(), DType::f64);
    EXPECT_EQ(dx.to_vector<double>(), sens.to_vector<double>());
    EXPECT_FALSE(tape.watched(whole));  // Only floats have gradients.
}

TEST(TensorMethods, HaveSecondDerivatives) {
    const auto cube = [](const Tensor &x) {
        const Tensor y = x.reshape({3, 2}).transpose({1, 0}).slice(1, 0, 2).copy().to(DType::f64);
        return F::mul(F::mul(y, y), y);
    };
    gradient_check(
        [&](const Tensors &in) {
            Tape inner;
            inner.watch(in[0]);
            const Tensor y = cube(in[0]);
            inner.stop();
            return inner.gradient(y, {in[0]})[0];
        },
        {numbers({2, 3})});
}

TEST(TensorMethods, AreNotRecordedWithoutATape) {
    const Tensor x = numbers({2, 3});
    Tape tape;
    tape.watch(x);
    Tensor hidden;
    {
        const StopTape stop;
        hidden = x.reshape({6});
    }
    EXPECT_FALSE(tape.watched(hidden));
    EXPECT_FALSE(tape.watched(numbers({2, 3}, 2).reshape({6})));
    EXPECT_EQ(x.to_vector<double>().size(), 6u);  // The method returns numbers, not a tensor.
    tape.stop();
    EXPECT_FALSE(tape.watched(x.reshape({6})));
    EXPECT_TRUE(tape.graph().ops.empty());
}

TEST(TensorMethods, AppearInTheGraphOnceByName) {
    const Tensor x = numbers({64, 48});
    Tape tape;
    tape.watch(x);
    const auto ops = [&] {
        std::string all;
        for (const TapeGraph::Op &op : tape.graph().ops)
            all += (all.empty() ? "" : " ") + op.name;
        return all;
    };
    const Tensor y = x.transpose({1, 0});
    EXPECT_EQ(ops(), "transpose");
    // A call that copies its input is still one entry.
    const Tensor z = F::softmax(y, 0);
    EXPECT_EQ(ops(), "transpose softmax");
    const Tensor u = F::roll(z, {1}, {0});
    const Tensor v = F::flip(u, {0});
    const Tensor w = F::reshape(v, {64, 48});
    EXPECT_EQ(ops(), "transpose softmax roll flip reshape");
    const Tensor moved = w.unsqueeze(0)
                             .squeeze(0)
                             .swap_axes(0, 1)
                             .slice(0, 0, 2)
                             .expand({3, 2, 64})
                             .copy()
                             .to(DType::f32);
    EXPECT_EQ(
        ops(),
        "transpose softmax roll flip reshape unsqueeze squeeze swap_axes slice expand copy to");
}

}  // namespace
}  // namespace halyard
