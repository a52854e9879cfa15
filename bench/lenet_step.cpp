// Measures a training step of LeNet-5 with batch 32: forward, backward, Momentum; op by op, or with
// HALYARD_MODE=GRAPH_MODE captured. lenet5_sink makes the same steps in calls of 100, lenet5_nadam,
// lenet5_lamb and lenet5_asgd have other updates.
// `--benchmark_repetitions=9` gives a median. bench/peers/compare_step.py interleaves it with other
// frameworks.
#include <benchmark/benchmark.h>

#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/optimizer_adaptive.h"
#include "nn/wrap.h"
#include "primitives/random.h"

namespace halyard {
namespace {

using Make = nn::Optimizer (*)(const ParameterTuple &);

struct Training {
    examples::LeNet5 network{10};
    nn::SoftmaxCrossEntropyWithLogits loss{true, "mean"};
    nn::TrainOneStepCell step;
    Tensor images = Tensor::full({32, 1, 32, 32}, 0.5);
    Tensor labels = Tensor::zeros({32}, DType::i32);
    explicit Training(Make make)
        : step(nn::WithLossCell(network, loss), make(network.trainable_params())) {
        // Graph mode records some of the first calls.
        constexpr int warm = 70;
        for (int k = 0; k < warm; k++)
            step(images, labels);
    }
};

nn::Optimizer momentum(const ParameterTuple &p) {
    return nn::Momentum(p, 0.01, 0.9);
}

void run_steps(benchmark::State &state, Make make) {
    set_seed(1);
    const Training t(make);
    for (auto _ : state)
        benchmark::DoNotOptimize(t.step(t.images, t.labels));
}

void lenet5_step(benchmark::State &state) {
    run_steps(state, momentum);
}
void lenet5_nadam(benchmark::State &state) {
    run_steps(state, [](const ParameterTuple &p) -> nn::Optimizer { return nn::NAdam(p); });
}
void lenet5_lamb(benchmark::State &state) {
    run_steps(state, [](const ParameterTuple &p) -> nn::Optimizer { return nn::Lamb(p, 0.001); });
}
void lenet5_asgd(benchmark::State &state) {
    run_steps(state, [](const ParameterTuple &p) -> nn::Optimizer { return nn::ASGD(p, 0.01); });
}

void lenet5_sink(benchmark::State &state) {
    set_seed(1);
    const Training t(momentum);
    constexpr int64_t steps = 100;
    while (state.KeepRunningBatch(steps)) {
        int64_t left = steps;
        benchmark::DoNotOptimize(t.step.call_all([&](std::vector<Tensor> &in) {
            in = {t.images, t.labels};
            return left-- > 0;
        }));
    }
}

BENCHMARK(lenet5_step)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_sink)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_nadam)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_lamb)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_asgd)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
