// Tests the calls around a cell's construct(): number of tensors, hooks, custom gradients, mixed
// precision, freezing.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "nn/recurrent.h"
#include "nn/sequential.h"
#include "nn/transformer.h"
#include "nn/wrap.h"
#include "primitives/autograd/tape.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cast.h"
#include "primitives/ops/random.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/unary.h"
#include "tests/registry/expect_error.h"

using namespace halyard;
using namespace halyard::nn;

namespace {

using Values = std::vector<double>;
Values values(const Tensor &t) {
    return t.to_vector<double>();
}

// Multiplies each input by its parameter.
struct Scales : Cell {
    Parameter a = parameter("a", Tensor::full({2}, 2));
    Parameter b = parameter("b", Tensor::full({2}, 3));
    std::vector<Tensor> construct(Tensors in) const override {
        std::vector<Tensor> out;
        for (const Tensor &t : in)
            out.push_back(F::mul(t, (out.empty() ? a : b).data()));
        return out;
    }
};

Values gradient(const Tensor &x, const std::function<Tensor(const Tensor &)> &f) {
    Tape tape;
    tape.watch(x);
    const Tensor y = f(x);
    return values(tape.gradient(y, {x})[0]);
}

}  // namespace

TEST(Call, TakesAnyNumberOfTensors) {
    const Scales cell;
    const Tensor x = Tensor::ones({2});
    EXPECT_EQ(values(cell(x)), (Values{2, 2}));
    EXPECT_EQ(cell.call(std::vector{x, x, x, x, x}).size(), 5u);
    EXPECT_EQ(AnyCell(cell).call(std::vector{x, x, x, x}).size(), 4u);
    expect_error<ShapeError>("[cell] Scales gives 2 tensors, expected one; call() returns them all",
                             [&] { cell(x, x); });
    expect_error<ShapeError>(
        "[cell] inputs are 4 tensors, but Flatten has no construct() for that many",
        [&] { Flatten()(x, x, x, x); });
}

TEST(Call, ForwardHooksReplaceOutputsUntilRemoved) {
    const Scales cell;
    std::vector<std::string> order;
    const HookHandle pre = cell.register_forward_pre_hook([&](const Cell &c, Tensors in) {
        order.push_back("pre " + c.cls_name());
        return std::vector{F::add(in[0], 1)};
    });
    const HookHandle post = cell.register_forward_hook([&](const Cell &, Tensors in, Tensors out) {
        order.push_back("post " + std::to_string(int(in[0].at({0}))) + " " +
                        std::to_string(int(out[0].at({0}))));
        return std::vector<Tensor>{};
    });
    const Tensor x = Tensor::ones({2});
    EXPECT_EQ(values(AnyCell(cell)(x)), (Values{4, 4}));
    EXPECT_EQ(order, (std::vector<std::string>{"pre Scales", "post 2 4"}));
    pre.remove();
    pre.remove();
    EXPECT_EQ(values(cell(x)), (Values{2, 2}));
    post.remove();
    EXPECT_EQ(values(cell(x)), (Values{2, 2}));
    EXPECT_EQ(order.size(), 3u);
    const HookHandle wrong = cell.register_forward_hook([](const Cell &, Tensors, Tensors out) {
        return std::vector{out[0], out[0]};
    });
    expect_error<ShapeError>("[cell] a forward hook returned 2 tensors, expected 1",
                             [&] { cell(x); });
}

TEST(Call, BackwardHooksReplaceGradients) {
    const Scales cell;
    const Tensor x = Tensor::ones({2});
    Values in, out;
    int calls = 0;
    const HookHandle hook = cell.register_backward_hook(
        [&](const Cell &c, Tensors grad_input, Tensors grad_output) {
            EXPECT_TRUE(c.same(cell));
            calls++;
            out = values(grad_output[0]);
            in = grad_input[0].defined() ? values(grad_input[0]) : Values{};
            return grad_input[0].defined() ? std::vector{F::mul(grad_input[0], 10)}
                                           : std::vector<Tensor>{};
        });
    const auto f = [&](const Tensor &t) { return F::mul(cell(t), 5); };
    EXPECT_EQ(gradient(x, f), (Values{100, 100}));
    EXPECT_EQ(out, (Values{5, 5}));
    EXPECT_EQ(in, (Values{10, 10}));

    const HookHandle pre = cell.register_backward_pre_hook(
        [](const Cell &, Tensors grad_output) { return std::vector{F::mul(grad_output[0], 7)}; });
    EXPECT_EQ(gradient(x, f), (Values{700, 700}));
    EXPECT_EQ(out, (Values{35, 35}));
    pre.remove();

    // Gradients in the data of a network's first cell aren't requested.
    Tape tape;
    tape.watch(cell.a);
    EXPECT_EQ(values(tape.gradient(f(x), {cell.a})[0]), (Values{5, 5}));
    EXPECT_EQ(calls, 3);
    EXPECT_TRUE(in.empty());
    hook.remove();
    EXPECT_EQ(gradient(x, f), (Values{10, 10}));
    EXPECT_EQ(calls, 3);
}

TEST(Call, BpropReplacesTheTape) {
    struct ByHand : Cell {
        Parameter p = parameter("p", Tensor::full({2}, 3));
        std::vector<Tensor> construct(Tensors in) const override {
            return {F::mul(in[0], p.data()), in[1]};
        }
        Bprop bprop() const override {
            return [](Tensors in, Tensors out, Tensors dout) {
                EXPECT_EQ(values(out[0]), (Values{3, 3}));
                return std::vector{F::mul(dout[0], 100), F::mul(dout[1], in[0])};
            };
        }
    };
    const ByHand cell;
    const Tensor x = Tensor::ones({2});
    const Tensor z = Tensor::full({2}, 4);
    Tape tape;
    for (const Tensor &t : {x, z, cell.p.data()})
        tape.watch(t);
    const std::vector<Tensor> y = AnyCell(cell).call(std::vector{x, z});
    const std::vector<Tensor> d = tape.gradient(F::add(y[0], F::mul(y[1], 2)), {x, z, cell.p});
    EXPECT_EQ(values(d[0]), (Values{100, 100}));
    EXPECT_EQ(values(d[1]), (Values{2, 2}));
    EXPECT_EQ(values(d[2]), (Values{0, 0}));
}

TEST(Call, MixedPrecisionKeepsMasterWeights) {
    for (const DType type : {DType::f16, DType::bf16}) {
        const SequentialCell net({Conv2d(2, 4, 3, {.has_bias = true}), BatchNorm2d(4), ReLU(),
                                  Flatten(), Dense(64, 8), LayerNorm({8}), PReLU(), Dense(8, 3)});
        net.set_train();
        net.to_float(type);
        const Tensor x = F::normal({5, 2, 4, 4});
        Tape tape;
        const ParameterTuple params = net.trainable_params();
        for (const Parameter &p : params)
            tape.watch(p);
        const Tensor y = net(x);
        EXPECT_EQ(y.dtype(), type);
        const std::vector<Tensor> d = tape.gradient(F::reduce_mean(F::square(y)),
                                                    {params.begin(), params.end()});
        net.to_float(DType::f32);
        Tape exact;
        for (const Parameter &p : params)
            exact.watch(p);
        const std::vector<Tensor> wanted = exact.gradient(F::reduce_mean(F::square(net(x))),
                                                          {params.begin(), params.end()});
        for (size_t k = 0; k < d.size(); k++) {
            EXPECT_EQ(d[k].dtype(), DType::f32);
            const Values a = values(d[k]);
            const Values b = values(wanted[k]);
            double off = 0, size = 0;
            for (size_t i = 0; i < a.size(); i++) {
                off += (a[i] - b[i]) * (a[i] - b[i]);
                size += b[i] * b[i];
            }
            // The norm behind it reduces its gradient to rounding errors.
            if (params[k].name() == "0.bias") continue;
            EXPECT_LT(std::sqrt(off / size), type == DType::f16 ? 0.02 : 0.15) << params[k].name();
        }
    }
    expect_error<DTypeError>("[cell] to_float is given f64, expected f16, bf16 or f32",
                             [] { Flatten().to_float(DType::f64); });
}

TEST(Call, LayersOfSeveralTensorsInMixedPrecision) {
    const Tensor x = F::normal({4, 3, 8});
    const LSTM lstm(8, 6);
    const TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 12});
    const Tensor h = lstm(x).h;
    const Tensor y = layer(x);
    lstm.to_float(DType::f16);
    layer.to_float(DType::bf16);
    EXPECT_EQ(lstm(x).c.dtype(), DType::f16);
    EXPECT_EQ(layer(x).dtype(), DType::bf16);
    EXPECT_LT(F::reduce_max(F::abs(F::sub(F::cast(lstm(x).h, DType::f32), h))).item(), 2e-3);
    EXPECT_LT(F::reduce_max(F::abs(F::sub(F::cast(layer(x), DType::f32), y))).item(), 0.1);
}

TEST(Call, FrozenParametersAndCells) {
    const SequentialCell net({Dense(2, 3), Dense(3, 1)});
    net[0].get_parameters()[0].set_requires_grad(false);
    EXPECT_EQ(net.trainable_params().size(), 3u);
    EXPECT_EQ(net.untrainable_params()[0].name(), "0.weight");
    const std::vector<float> before = net.untrainable_params()[0].data().to_vector<float>();
    const TrainOneStepCell step(WithLossCell(net, MSELoss()),
                                Momentum(net.trainable_params(), 0.1, 0.9));
    step(Tensor::ones({4, 2}), Tensor::zeros({4, 1}));
    EXPECT_EQ(net.untrainable_params()[0].data().to_vector<float>(), before);
    net[1].set_grad(false);
    EXPECT_EQ(gradient(Tensor::ones({1, 2}), [&](const Tensor &x) { return net(x); }),
              (Values{0, 0}));
}

TEST(Call, DropoutOfWholeChannels) {
    const Dropout2d dropout(0.5);
    const Tensor x = Tensor::ones({8, 16, 2, 3});
    EXPECT_TRUE(dropout(x).same_memory(x));
    dropout.set_train();
    const Tensor y = F::reshape(dropout(x), {128, 6});
    int dropped = 0;
    for (int64_t c = 0; c < 128; c++) {
        dropped += y.at({c, 0}) == 0;
        for (int64_t i = 0; i < 6; i++)
            EXPECT_EQ(y.at({c, i}), y.at({c, 0}) == 0 ? 0 : 2);
    }
    EXPECT_GT(dropped, 30);
    EXPECT_LT(dropped, 98);
}

TEST(Call, TreeOfCells) {
    struct Net : Cell {
        Conv2d conv = child("conv", Conv2d(1, 6, 5, {.pad_mode = "valid"}));
        SequentialCell head = child("head",
                                    SequentialCell({Dense(6, 10, {}, {}, false), Dropout(0.25)}));
        Tensor construct(const Tensor &x) const override { return x; }
    };
    const Net net;
    std::ostringstream out;
    out << AnyCell(net);
    EXPECT_EQ(out.str(), "Net(\n"
                         "  (conv): Conv2d(input_channels=1, output_channels=6, kernel_size=(5, "
                         "5), stride=(1, 1), pad_mode=valid, padding=(0, 0, 0, 0), "
                         "dilation=(1, 1), group=1, has_bias=False)\n"
                         "  (head): SequentialCell(\n"
                         "    (0): Dense(input_channels=6, output_channels=10, has_bias=False)\n"
                         "    (1): Dropout(p=0.25)\n"
                         "  )\n"
                         ")");
}

TEST(Call, CellsAddedToANetwork) {
    const SequentialCell inner({Dense(2, 2)});
    SequentialCell net;
    net.append(inner);
    EXPECT_EQ(net.name_cells()[0].first, "0");
    SequentialCell(inner).append(Dense(2, 3));
    net.insert_child_to_cell("head", SequentialCell({BatchNorm1d(3)}));
    std::vector<std::string> names;
    for (const Parameter &p : net.get_parameters())
        names.push_back(p.name());
    EXPECT_EQ(names, (std::vector<std::string>{"0.0.weight", "0.0.bias", "0.1.weight", "0.1.bias",
                                               "head.0.moving_mean", "head.0.moving_variance",
                                               "head.0.gamma", "head.0.beta"}));
    expect_error<AttrError>("[cell] child \"tail\" is an empty cell",
                            [&] { net.insert_child_to_cell("tail", AnyCell()); });
    CellList list({Flatten()});
    list.extend({Identity(), Identity()});
    int count = 0;
    for (const AnyCell &cell : list)
        count += cell.cls_name() == "Identity";
    EXPECT_EQ(count, 2);
}
