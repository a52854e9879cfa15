// Measures a training step of LeNet-5 with batch 32: forward, backward, Momentum; op by op, or with
// HALYARD_MODE=GRAPH_MODE captured.
// `--benchmark_repetitions=9` gives a median. bench/peers/compare_step.py interleaves it with other
// frameworks.
#include <benchmark/benchmark.h>

#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "primitives/random.h"

namespace halyard {
namespace {

void lenet5_step(benchmark::State &state) {
    set_seed(1);
    const examples::LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::TrainOneStepCell step(nn::WithLossCell(network, loss),
                                    nn::Momentum(network.trainable_params(), 0.01, 0.9));
    const Tensor images = Tensor::full({32, 1, 32, 32}, 0.5);
    const Tensor labels = Tensor::zeros({32}, DType::i32);
    // Graph mode records some of the first calls.
    constexpr int warm = 70;
    for (int k = 0; k < warm; k++)
        step(images, labels);
    for (auto _ : state)
        benchmark::DoNotOptimize(step(images, labels));
}
BENCHMARK(lenet5_step)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
