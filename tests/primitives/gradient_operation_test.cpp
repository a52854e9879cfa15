#include <gtest/gtest.h>

#include "primitives/ops.h"
#include "primitives/tape.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Tensors = std::vector<Tensor>;
using Doubles = std::vector<double>;

Tensor row(std::initializer_list<double> v) { return Tensor::from<double>(v); }

// x * y * w
struct Net {
    Parameter w{row({5, 7}), "w"}, unused{row({1}), "unused"};
    Function function() {
        return [w = w](const Tensors &in) { return F::mul(F::mul(in[0], in[1]), w.data()); };
    }
};

TEST(GradOperation, FirstInputByDefault) {
    Net net;
    const Gradients g = GradOperation{}(net.function())({row({1, 2}), row({3, 4})});
    EXPECT_EQ(g.value.to_vector<double>(), (Doubles{15, 56}));
    ASSERT_EQ(g.inputs.size(), 1u);
    EXPECT_EQ(g.inputs[0].to_vector<double>(), (Doubles{15, 28}));
    EXPECT_TRUE(g.parameters.empty());
}

TEST(GradOperation, GetAll) {
    Net net;
    const Gradients g = GradOperation{.get_all = true}(net.function())({row({1, 2}), row({3, 4})});
    ASSERT_EQ(g.inputs.size(), 2u);
    EXPECT_EQ(g.inputs[0].to_vector<double>(), (Doubles{15, 28}));
    EXPECT_EQ(g.inputs[1].to_vector<double>(), (Doubles{5, 14}));
}

TEST(GradOperation, GetByList) {
    Net net;
    const Gradients g = GradOperation{.get_by_list = true}(net.function(), {net.w, net.unused})({row({1, 2}), row({3, 4})});
    EXPECT_TRUE(g.inputs.empty());
    ASSERT_EQ(g.parameters.size(), 2u);
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{3, 8}));
    EXPECT_EQ(g.parameters[1].to_vector<double>(), (Doubles{0}));
}

TEST(GradOperation, GetAllAndByList) {
    Net net;
    const Gradients g = GradOperation{.get_all = true, .get_by_list = true}(net.function(), {net.w})({row({1, 2}), row({3, 4})});
    EXPECT_EQ(g.inputs.size(), 2u);
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{3, 8}));
}

// A TrainOneStepCell of one's own: the loss's gradient comes in as the last argument, filled with a scale.
TEST(GradOperation, SensIsTheLastArgument) {
    Net net;
    const GradOperation grad{.get_by_list = true, .sens_param = true};
    const Function loss = [w = net.w](const Tensors &in) { return F::softmax(F::mul(in[0], F::add(in[1], w.data()))); };
    const Tensor data = row({1, 2}), label = row({0.1, 0.2});
    const Tensor value = loss({data, label});
    auto with = [&](double scale) { return grad(loss, {net.w})({data, label, Tensor::full(value.shape(), scale, value.dtype())}).parameters[0]; };
    const Tensor weighted = grad(loss, {net.w})({data, label, row({1, 3})}).parameters[0];
    EXPECT_NEAR(with(1024).at({0}), 1024 * with(1).at({0}), 1e-9);
    EXPECT_GT(std::fabs(weighted.at({0})), 1e-6);
    expect_error<GradError>("[tape] sens has shape [3], expected [2]", [&] { grad(loss, {net.w})({data, label, row({1, 2, 3})}); });
    expect_error<GradError>("[GradOperation] sens_param is set, but the call has no arguments", [&] { grad(loss, {net.w})({}); });
}

TEST(GradOperation, IntegerInputsAndFrozenParametersHaveZeros) {
    Net net;
    net.w.set_requires_grad(false);
    const Function f = [w = net.w](const Tensors &in) { return F::mul(in[0], w.data()); };
    const Gradients g = GradOperation{.get_all = true, .get_by_list = true}(f, {net.w})({row({1, 2}), Tensor::from<int32_t>({3, 4})});
    EXPECT_EQ(g.inputs[0].to_vector<double>(), (Doubles{5, 7}));
    EXPECT_EQ(g.inputs[1].dtype(), DType::i32);
    EXPECT_EQ(g.inputs[1].to_vector<double>(), (Doubles{0, 0}));
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{0, 0}));
}

TEST(GradOperation, OneTensorMayStandForTwoInputs) {
    const Tensor x = row({3});
    const Gradients g = GradOperation{.get_all = true}([](const Tensors &in) { return F::mul(F::mul(in[0], in[0]), in[1]); })({x, x});
    EXPECT_EQ(g.inputs[0].item(), 18);
    EXPECT_EQ(g.inputs[1].item(), 9);
}

TEST(ValueAndGrad, Positions) {
    Net net;
    const Gradients g = value_and_grad(net.function(), {1}, {net.w})({row({1, 2}), row({3, 4})});
    EXPECT_EQ(g.value.to_vector<double>(), (Doubles{15, 56}));
    EXPECT_EQ(g.inputs[0].to_vector<double>(), (Doubles{5, 14}));
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{3, 8}));
    expect_error<GradError>("[gradient] position is 2, expected 0 to 1", [&] { value_and_grad(net.function(), {2})({row({1, 2}), row({3, 4})}); });
}

TEST(ValueAndGrad, Nests) {
    const Function cube = [](const Tensors &in) { return F::mul(F::mul(in[0], in[0]), in[0]); };
    const Function slope = [&](const Tensors &in) { return value_and_grad(cube)(in).inputs[0]; };
    const Function curve = [&](const Tensors &in) { return value_and_grad(slope)(in).inputs[0]; };
    EXPECT_EQ(slope({row({2})}).item(), 12);
    EXPECT_EQ(curve({row({2})}).item(), 12);
    EXPECT_EQ(value_and_grad(curve)({row({2})}).inputs[0].item(), 6);
}

TEST(Parameter, SetData) {
    const Parameter p(row({1, 2}), "fc.weight");
    const Tensor handle = p.data();
    p.set_data(row({3, 4}));
    EXPECT_EQ(handle.to_vector<double>(), (Doubles{3, 4}));
    expect_error<ShapeError>("[parameter] fc.weight has shape [2], the value has [3]", [&] { p.set_data(row({1, 2, 3})); });
    expect_error<DTypeError>("[parameter] fc.weight is f64, the value is f32", [&] { p.set_data(Tensor::ones({2})); });
}

}  // namespace
}  // namespace halyard
