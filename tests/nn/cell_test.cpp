#include "nn/cell.h"

#include <gtest/gtest.h>

#include "examples/lenet5/lenet5.h"
#include "nn/basic.h"
#include "nn/loss.h"
#include "nn/sequential.h"
#include "nn/wrap.h"
#include "primitives/autograd/tape.h"
#include "registry/base/error.h"

using namespace halyard;
using namespace halyard::nn;

namespace {

struct Inner : Cell {
    Parameter scale = parameter("scale", Tensor::ones({2}));
    Parameter fixed = parameter("fixed", Tensor::ones({2}), false);
    Tensor construct(const Tensor &x) const override { return x; }
};

struct Outer : Cell {
    Inner a = child("a", Inner());
    Parameter own = parameter("own", Tensor::ones({1}));
    Inner b = child("b", Inner());
    Tensor construct(const Tensor &x) const override { return b(a(x)); }
    Tensor construct(const Tensor &x, const Tensor &) const override { return x; }
    using Cell::child;
    using Cell::parameter;
};

std::vector<std::string> names(const ParameterTuple &ps) {
    std::vector<std::string> out;
    for (const Parameter &p : ps)
        out.push_back(p.name());
    return out;
}

}  // namespace

TEST(Cell, ParametersOfLeNet5) {
    const examples::LeNet5 net(10);
    const std::vector<std::string> expected = {"conv1.weight", "conv2.weight", "fc1.weight",
                                               "fc1.bias",     "fc2.weight",   "fc2.bias",
                                               "fc3.weight",   "fc3.bias"};
    EXPECT_EQ(names(net.trainable_params()), expected);
    EXPECT_EQ(net.parameters_dict().at("fc1.weight").shape(), (Shape{120, 400}));
    EXPECT_EQ(net.parameters_dict().at("conv2.weight").shape(), (Shape{16, 6, 5, 5}));
    std::vector<std::string> cells;
    for (const auto &[name, cell] : net.cells_and_names())
        cells.push_back(name);
    EXPECT_EQ(cells, (std::vector<std::string>{"", "conv1", "conv2", "fc1", "fc2", "fc3"}));
}

// As in MindSpore, the first cell is the network itself.
TEST(Cell, ListsItselfFirst) {
    const Outer net;
    const auto all = net.cells_and_names();
    EXPECT_EQ(all[0].first, "");
    EXPECT_TRUE(all[0].second.same(net));
    EXPECT_EQ(all[0].second.as<Outer>(), &net);
    EXPECT_EQ(all[0].second.cls_name(), "Outer");
    const Dense dense(3, 2);
    ASSERT_EQ(dense.cells_and_names().size(), 1u);
    EXPECT_EQ(dense.cells_and_names()[0].second.as<Dense>(), &dense);
    const AnyCell any = net;
    EXPECT_NE(any.cells_and_names()[0].second.as<Outer>(), nullptr);
    EXPECT_EQ(any.cells_and_names().size(), 3u);
}

TEST(Cell, ListsOwnParametersFirstAndFrozenOnesSeparately) {
    const Outer net;
    EXPECT_EQ(names(net.get_parameters()),
              (std::vector<std::string>{"own", "a.scale", "a.fixed", "b.scale", "b.fixed"}));
    EXPECT_EQ(names(net.trainable_params()),
              (std::vector<std::string>{"own", "a.scale", "b.scale"}));
    EXPECT_TRUE(net.a.scale.same(net.parameters_dict().at("a.scale")));
}

TEST(Cell, CopiesShareState) {
    const Outer net;
    const Outer copy = net;
    EXPECT_TRUE(copy.same(net));
    EXPECT_FALSE(Outer().same(net));
    copy.set_train();
    EXPECT_TRUE(net.training());
    EXPECT_TRUE(net.a.training());
    net.set_train(false);
    EXPECT_FALSE(copy.b.training());
    copy.a.scale.set_data(Tensor::full({2}, 3));
    EXPECT_EQ(net.a.scale.data().at({1}), 3);
}

TEST(Cell, SequentialNumbersItsChildrenAndNestedNamesGrow) {
    SequentialCell s({Inner(), SequentialCell({Inner(), Flatten()})});
    EXPECT_EQ(names(s.get_parameters()),
              (std::vector<std::string>{"0.scale", "0.fixed", "1.0.scale", "1.0.fixed"}));
    s.append(Inner());
    EXPECT_EQ(s.size(), 3u);
    EXPECT_EQ(s.get_parameters().back().name(), "2.fixed");
    const Tensor x = Tensor::ones({2, 3, 4});
    EXPECT_EQ(s(x).shape(), (Shape{2, 12}));
}

TEST(Cell, SharedCellsCountOnce) {
    const Inner shared;
    const SequentialCell s({shared, shared});
    EXPECT_EQ(names(s.get_parameters()), (std::vector<std::string>{"0.scale", "0.fixed"}));
}

TEST(Cell, WrappersKeepNames) {
    const Outer net;
    const WithLossCell with_loss(net, SoftmaxCrossEntropyWithLogits(true, "mean"));
    EXPECT_EQ(names(with_loss.trainable_params()), names(net.trainable_params()));
    EXPECT_EQ(with_loss.parameters_and_names()[0].first, "_backbone.own");
    with_loss.set_train();
    EXPECT_TRUE(net.b.training());
}

TEST(Cell, RejectsInvalidArguments) {
    Outer net;
    EXPECT_THROW(net.child("a", Inner()), AttrError);
    EXPECT_THROW(net.parameter("own", Tensor::ones({1})), AttrError);
    EXPECT_THROW(net.parameter("a", Tensor::ones({1})), AttrError);
    EXPECT_THROW(net.child("x.y", Inner()), AttrError);
    EXPECT_THROW(net.child("", Inner()), AttrError);
    const Tensor x = Tensor::ones({1});
    EXPECT_NO_THROW(net(x, x));
    EXPECT_THROW(net(x, x, x), ShapeError);
    EXPECT_THROW(AnyCell()(x), AttrError);
    EXPECT_THROW(Conv2d(3, 4, 3, {.group = 2}), AttrError);
    EXPECT_THROW(Conv2d(3, 4, 3, {.padding = 1}), AttrError);
    EXPECT_THROW(Conv2d(3, 4, 0), AttrError);
    EXPECT_THROW(MaxPool2d({.pad_mode = "full"}), AttrError);
    EXPECT_THROW(Dropout(1.0), AttrError);
    EXPECT_THROW(SoftmaxCrossEntropyWithLogits(true, "median"), AttrError);
    EXPECT_THROW(Dense(3, 2)(Tensor::ones({1, 4})), ShapeError);
}

TEST(Cell, DropoutOnlyInTraining) {
    const Dropout d(0.5);
    const Tensor x = Tensor::ones({4});
    EXPECT_TRUE(d(x).same_memory(x));
}
