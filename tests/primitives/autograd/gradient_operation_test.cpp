#include <gtest/gtest.h>

#include "primitives/autograd/tape.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/softmax.h"
#include "primitives/ops/unary.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Tensors = std::vector<Tensor>;
using Doubles = std::vector<double>;

Tensor row(std::initializer_list<double> v) {
    return Tensor::from<double>(v);
}

// x * y * w
struct Net {
    Parameter w{row({5, 7}), "w"};
    Parameter unused{row({1}), "unused"};
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
    const Gradients g = GradOperation{.get_by_list = true}(net.function(), {net.w, net.unused})(
        {row({1, 2}), row({3, 4})});
    EXPECT_TRUE(g.inputs.empty());
    ASSERT_EQ(g.parameters.size(), 2u);
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{3, 8}));
    EXPECT_EQ(g.parameters[1].to_vector<double>(), (Doubles{0}));
}

TEST(GradOperation, GetAllAndByList) {
    Net net;
    const Gradients g = GradOperation{.get_all = true, .get_by_list = true}(
        net.function(), {net.w})({row({1, 2}), row({3, 4})});
    EXPECT_EQ(g.inputs.size(), 2u);
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{3, 8}));
}

// In a custom TrainOneStepCell, the gradient of the loss is the last argument, filled with a scale.
TEST(GradOperation, SensIsTheLastArgument) {
    Net net;
    const GradOperation grad{.get_by_list = true, .sens_param = true};
    const Function loss = [w = net.w](const Tensors &in) {
        return F::softmax(F::mul(in[0], F::add(in[1], w.data())));
    };
    const Tensor data = row({1, 2}), label = row({0.1, 0.2});
    const Tensor value = loss({data, label});
    auto with = [&](double scale) {
        return grad(loss, {net.w})({data, label, Tensor::full(value.shape(), scale, value.dtype())})
            .parameters[0];
    };
    const Tensor weighted = grad(loss, {net.w})({data, label, row({1, 3})}).parameters[0];
    EXPECT_NEAR(with(1024).at({0}), 1024 * with(1).at({0}), 1e-9);
    EXPECT_GT(std::fabs(weighted.at({0})), 1e-6);
    expect_error<GradError>("[tape] sens has shape [3], expected [2]", [&] {
        grad(loss, {net.w})({data, label, row({1, 2, 3})});
    });
    expect_error<GradError>("[GradOperation] sens_param is set, but the call has no arguments",
                            [&] { grad(loss, {net.w})({}); });
}

TEST(GradOperation, IntegerInputsAndFrozenParametersHaveZeros) {
    Net net;
    net.w.set_requires_grad(false);
    const Function f = [w = net.w](const Tensors &in) { return F::mul(in[0], w.data()); };
    const Gradients g = GradOperation{.get_all = true, .get_by_list = true}(f, {net.w})(
        {row({1, 2}), Tensor::from<int32_t>({3, 4})});
    EXPECT_EQ(g.inputs[0].to_vector<double>(), (Doubles{5, 7}));
    EXPECT_EQ(g.inputs[1].dtype(), DType::i32);
    EXPECT_EQ(g.inputs[1].to_vector<double>(), (Doubles{0, 0}));
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{0, 0}));
}

TEST(GradOperation, OneTensorMayBeTwoInputs) {
    const Tensor x = row({3});
    const Gradients g = GradOperation{.get_all = true}(
        [](const Tensors &in) { return F::mul(F::mul(in[0], in[0]), in[1]); })({x, x});
    EXPECT_EQ(g.inputs[0].item(), 18);
    EXPECT_EQ(g.inputs[1].item(), 9);
}

TEST(ValueAndGrad, Positions) {
    Net net;
    const Gradients g = value_and_grad(net.function(), {1}, {net.w})({row({1, 2}), row({3, 4})});
    EXPECT_EQ(g.value.to_vector<double>(), (Doubles{15, 56}));
    EXPECT_EQ(g.inputs[0].to_vector<double>(), (Doubles{5, 14}));
    EXPECT_EQ(g.parameters[0].to_vector<double>(), (Doubles{3, 8}));
    expect_error<GradError>("[gradient] position is 2, expected 0 to 1", [&] {
        value_and_grad(net.function(), {2})({row({1, 2}), row({3, 4})});
    });
}

TEST(ValueAndGrad, Nests) {
    const Function cube = [](const Tensors &in) { return F::mul(F::mul(in[0], in[0]), in[0]); };
    const Function derivative = [&](const Tensors &in) {
        return value_and_grad(cube)(in).inputs[0];
    };
    const Function second_derivative = [&](const Tensors &in) {
        return value_and_grad(derivative)(in).inputs[0];
    };
    EXPECT_EQ(derivative({row({2})}).item(), 12);
    EXPECT_EQ(second_derivative({row({2})}).item(), 12);
    EXPECT_EQ(value_and_grad(second_derivative)({row({2})}).inputs[0].item(), 6);
}

TEST(ValueAndGrad, OtherValuesAreAuxiliary) {
    const FunctionWithAux f = [](const Tensors &in) {
        return Tensors{F::mul(in[0], in[0]), F::mul(in[0], 10), in[0]};
    };
    const Gradients g = value_and_grad(f)({row({1, 2})});
    EXPECT_EQ(g.value.to_vector<double>(), (Doubles{1, 4}));
    EXPECT_EQ(g.inputs[0].to_vector<double>(), (Doubles{2, 4}));
    ASSERT_EQ(g.aux.size(), 2u);
    EXPECT_EQ(g.aux[0].to_vector<double>(), (Doubles{10, 20}));
    expect_error<GradError>("[gradient] the function returned no tensor", [] {
        value_and_grad([](const Tensors &) { return Tensors(); })({row({1})});
    });
}

// The examples of MindSpore's documentation: x^3 + y, and 2 x + y.
const Tensor square_1234 = row({1, 2, 3, 4}).reshape({2, 2});

TEST(Vjp, MatchesMindSpore) {
    const Function f = [](const Tensors &in) {
        return F::add(F::mul(F::mul(in[0], in[0]), in[0]), in[1]);
    };
    const Vjp r = vjp(f, {square_1234, square_1234});
    EXPECT_EQ(r.value.to_vector<double>(), (Doubles{2, 10, 30, 68}));
    for (const double scale : {1., 2.}) {  // It may be called twice.
        const Gradients g = r.vjp_fn(Tensor::full({2, 2}, scale, DType::f64));
        EXPECT_EQ(g.inputs[0].to_vector<double>(),
                  (Doubles{3 * scale, 12 * scale, 27 * scale, 48 * scale}));
        EXPECT_EQ(g.inputs[1].to_vector<double>(), (Doubles(4, scale)));
    }
    Net net;
    const Vjp with_weights = vjp(net.function(), {row({1, 2}), row({3, 4})}, {net.w});
    EXPECT_EQ(with_weights.vjp_fn(row({1, 10})).parameters[0].to_vector<double>(),
              (Doubles{3, 80}));
    expect_error<GradError>("[tape] sens has shape [3], expected [2,2]", [&] {
        r.vjp_fn(row({1, 2, 3}));
    });
}

TEST(Jvp, MatchesMindSpore) {
    const Tensor ones = Tensor::ones({2, 2}, DType::f64);
    const FunctionWithAux f = [](const Tensors &in) {
        return Tensors{F::add(F::mul(F::mul(in[0], in[0]), in[0]), in[1]), in[1]};
    };
    const Jvp r = jvp(f, {square_1234, square_1234}, {ones, ones});
    EXPECT_EQ(r.value.to_vector<double>(), (Doubles{2, 10, 30, 68}));
    EXPECT_EQ(r.jvp.to_vector<double>(), (Doubles{4, 13, 28, 49}));
    EXPECT_EQ(r.aux[0].to_vector<double>(), (Doubles{1, 2, 3, 4}));
    expect_error<GradError>("[jvp] v are 1 tensors, expected 2", [&] {
        jvp(f, {ones, ones}, {ones});
    });
    expect_error<GradError>("[jvp] v0 has shape [3], expected [2,2]", [&] {
        jvp(f, {ones, ones}, {row({1, 2, 3}), ones});
    });
}

// Compares a network's derivative along a direction with a difference quotient.
TEST(Jvp, OfANetworkMatchesDifferences) {
    const auto wave = [](const Shape &s, double by) {
        const Tensor t = Tensor::empty(s, DType::f64);
        for (int64_t i = 0; i < t.elements(); i++)
            t.data<double>()[i] = std::sin(by * double(i + 1));
        return t;
    };
    const Tensor x = wave({2, 1, 6, 6}, 0.7), k = wave({3, 1, 3, 3}, 1.3), w = wave({3, 4}, 0.9),
                 dx = wave({2, 1, 6, 6}, 2.1), dk = wave({3, 1, 3, 3}, 0.4);
    const Function f = [&](const Tensors &in) {
        return F::softmax(F::matmul(F::tanh(F::reduce_mean(F::conv2d(in[0], in[1]), {2, 3})), w));
    };
    const double h = 1e-5;
    const auto moved = [&](double by) {
        return f({F::add(x, F::mul(dx, by)), F::add(k, F::mul(dk, by))}).to_vector<double>();
    };
    const Doubles up = moved(h);
    const Doubles down = moved(-h);
    const Doubles got = jvp(f, {x, k}, {dx, dk}).jvp.to_vector<double>();
    for (size_t i = 0; i < got.size(); i++)
        EXPECT_NEAR(got[i], (up[i] - down[i]) / (2 * h), 1e-9);
    EXPECT_GT(std::fabs(got[0]), 1e-3);
}

TEST(Depend, ReturnsItsFirstArgument) {
    EXPECT_EQ(depend(row({3}), 7).item(), 3);
}

TEST(Parameter, SetData) {
    const Parameter p(row({1, 2}), "fc.weight");
    const Tensor handle = p.data();
    p.set_data(row({3, 4}));
    EXPECT_EQ(handle.to_vector<double>(), (Doubles{3, 4}));
    expect_error<ShapeError>("[parameter] fc.weight has shape [2], the value has [3]", [&] {
        p.set_data(row({1, 2, 3}));
    });
    expect_error<DTypeError>("[parameter] fc.weight is f64, the value is f32",
                             [&] { p.set_data(Tensor::ones({2})); });
}

TEST(GradOperation, UndefinedTensorsAreNamed) {
    const Function square = [](const std::vector<Tensor> &x) { return F::square(x[0]); };
    const Tensor x = numbers({2});
    expect_error<GradError>("[gradient] input 0 is an undefined tensor",
                            [&] { value_and_grad(square)({Tensor()}); });
    expect_error<GradError>("[jvp] input 0 is an undefined tensor",
                            [&] { jvp(square, {Tensor()}, {x}); });
    expect_error<GradError>("[jvp] v0 is an undefined tensor",
                            [&] { jvp(square, {x}, {Tensor()}); });
}

}  // namespace
}  // namespace halyard
