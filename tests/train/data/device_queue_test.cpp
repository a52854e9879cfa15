#include "train/data/device_queue.h"

#include <gtest/gtest.h>

#include "nn/activation.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/wrap.h"
#include "primitives/autograd/tape.h"
#include "primitives/context.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "tests/registry/expect_error.h"
#include "train/data/sources.h"

namespace halyard {
namespace {

class Queue : public testing::Test {
protected:
    void TearDown() override { set_context({.mode = before_}); }
    const ExecutionMode before_ = get_context().mode;  // HALYARD_MODE's
};

// Rows of four numbers and a label, in batches of `batch`.
dataset::Dataset examples(int64_t n, int64_t batch) {
    const Tensor x = Tensor::empty({n, 4}, DType::f32);
    const Tensor y = Tensor::empty({n}, DType::i32);
    for (int64_t k = 0; k < n; k++) {
        y.data<int32_t>()[k] = int32_t(k % 3);
        for (int64_t i = 0; i < 4; i++)
            x.data<float>()[4 * k + i] = float((k * 7 + i * 5) % 11) - 5;
    }
    return dataset::TensorDataset({{"x", x}, {"y", y}}, false).batch(batch);
}

ops::GetNext rows_of(int64_t batch, const std::string &name = "rows") {
    return {{DType::f32, DType::i32}, {{batch, 4}, {batch}}, 2, name};
}

TEST_F(Queue, GivesTheRowsOfItsPasses) {
    const dataset::DeviceQueue queue("rows", examples(4, 2), 2);
    const ops::GetNext get_next = rows_of(2);
    for (const int32_t first : {0, 2, 0, 2}) {
        const std::vector<Tensor> row = get_next();
        ASSERT_EQ(row.size(), 2u);
        EXPECT_EQ(row[1].data<int32_t>()[0], first);
    }
    expect_error<IoError>("[GetNext] the queue 'rows' has no more rows", get_next);
}

TEST_F(Queue, RefusesWrongNamesAndRows) {
    expect_error<AttrError>("[GetNext] there is no queue 'rows'", rows_of(2));
    {
        const dataset::DeviceQueue queue("rows", examples(3, 2));
        expect_error<AttrError>("[DeviceQueue] there is a queue 'rows' already",
                                [] { dataset::DeviceQueue("rows", examples(2, 2)); });
        rows_of(2)();
        expect_error<ShapeError>("[GetNext] column 0 of 'rows' has shape [1,4], expected [2,4]",
                                 rows_of(2));
        const ops::GetNext one({DType::f32}, {{2, 4}}, 1, "rows");
        expect_error<ShapeError>("[GetNext] a row of 'rows' has 2 columns, expected 1", one);
        rows_of(1)();
        const ops::GetNext other({DType::f32, DType::i64}, {{2, 4}, {2}}, 2, "rows");
        expect_error<DTypeError>("[GetNext] column 1 of 'rows' is i32, expected i64", other);
    }
    const dataset::DeviceQueue again("rows", examples(2, 2));
    expect_error<AttrError>("[DeviceQueue] the name is empty",
                            [] { dataset::DeviceQueue("", examples(2, 2)); });
    expect_error<AttrError>("[DeviceQueue] epochs is 0, expected -1 or at least 1",
                            [] { dataset::DeviceQueue("x", examples(2, 2), 0); });
    expect_error<AttrError>("[GetNext] has 1 types and 0 shapes for 1 outputs",
                            [] { ops::GetNext({DType::f32}, {}, 1, "rows"); });
}

// A step that takes its rows itself.
class FedStep : public nn::Cell {
public:
    FedStep(const nn::AnyCell &network, const nn::Optimizer &o)
        : Cell(false), network_(child("network", network)), optimizer_(o) {}
    std::vector<Tensor> construct(nn::Tensors) const override {
        const std::vector<Tensor> row = get_next_();
        const std::vector<Tensor> weights(optimizer_.parameters().begin(),
                                          optimizer_.parameters().end());
        Tape tape;
        for (const Tensor &w : weights)
            tape.watch(w);
        const Tensor loss = network_(row[0], row[1]);
        optimizer_(tape.gradient(loss, weights));
        return {loss};
    }

private:
    ops::GetNext get_next_ = rows_of(2);
    nn::AnyCell network_;
    nn::Optimizer optimizer_;
};

std::vector<std::vector<float>> trained(ExecutionMode mode, bool is_sunk) {
    set_context({.mode = mode});
    set_seed(5);
    const dataset::DeviceQueue queue("rows", examples(10, 2));
    const nn::Dense net(4, 3);
    const nn::Momentum optimizer(net.trainable_params(), 0.1, 0.9);
    const FedStep step(nn::WithLossCell(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean")),
                       optimizer);
    std::vector<Tensor> last;
    int left = 23;
    if (is_sunk) {
        last = step.call_all([&](std::vector<Tensor> &in) {
            in.clear();
            return left-- > 0;
        });
    } else {
        while (left-- > 0)
            last = step.call({});
    }
    EXPECT_EQ(step.graphs().size(), mode == GRAPH_MODE ? 1u : 0u);
    std::vector<std::vector<float>> all{last[0].to_vector<float>()};
    for (const Parameter &p : net.get_parameters())
        all.push_back(p.data().to_vector<float>());
    return all;
}

TEST_F(Queue, FeedsCapturedSteps) {
    const auto expected = trained(PYNATIVE_MODE, false);
    EXPECT_EQ(trained(PYNATIVE_MODE, true), expected);
    EXPECT_EQ(trained(GRAPH_MODE, false), expected);
    EXPECT_EQ(trained(GRAPH_MODE, true), expected);
}

}  // namespace
}  // namespace halyard
