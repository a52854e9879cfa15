// Measures a training step of LeNet-5 with batch 32: forward, backward, Momentum; op by op, or with
// HALYARD_MODE=GRAPH_MODE captured. lenet5_sink makes the same steps in calls of 100, lenet5_nadam,
// lenet5_lamb and lenet5_asgd have other updates. lenet5_new_batch measures calls with a batch size
// that no call had before: graph mode records them. lenet5_empty_sink is lenet5_sink with kernels
// that do nothing, so that what is around them is left. The network of dense_step and dense_sink is
// so small that what is around its kernels takes most of the time.
// `--benchmark_repetitions=9` gives a median. bench/peers/compare_step.py interleaves it with other
// frameworks.
#include <benchmark/benchmark.h>

#include "examples/lenet5/lenet5.h"
#include "nn/activation.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/optimizer_adaptive.h"
#include "nn/wrap.h"
#include "primitives/random.h"
#include "registry/dispatch/registry.h"

namespace halyard {
namespace {

using Make = nn::Optimizer (*)(const ParameterTuple &);

class SmallNet : public nn::Cell {
public:
    Tensor construct(const Tensor &x) const override { return last(relu(first(x))); }

private:
    nn::Dense first = child("first", nn::Dense(4, 8));
    nn::ReLU relu;
    nn::Dense last = child("last", nn::Dense(8, 3));
};

struct Training {
    nn::SoftmaxCrossEntropyWithLogits loss{true, "mean"};
    nn::TrainOneStepCell step;
    Tensor data, labels;
    Training(const nn::AnyCell &network, const Shape &shape, Make make)
        : step(nn::WithLossCell(network, loss), make(network.trainable_params())),
          data(Tensor::full(shape, 0.5)), labels(Tensor::zeros({shape[0]}, DType::i32)) {
        // Graph mode records some of the first calls.
        constexpr int warm = 70;
        for (int k = 0; k < warm; k++)
            step(data, labels);
    }
};

Training lenet5(Make make) {
    set_seed(1);
    return {examples::LeNet5(10), {32, 1, 32, 32}, make};
}

nn::Optimizer momentum(const ParameterTuple &p) {
    return nn::Momentum(p, 0.01, 0.9);
}

Training small() {
    set_seed(1);
    return {SmallNet(), {5, 4}, momentum};
}

void run_steps(benchmark::State &state, const Training &t) {
    constexpr int warm = 65;  // graph mode records the 64th call again, and then the 128th
    for (int k = 0; k < warm; k++)
        t.step(t.data, t.labels);
    for (auto _ : state)
        benchmark::DoNotOptimize(t.step(t.data, t.labels));
}

void run_sinks(benchmark::State &state, const Training &t) {
    constexpr int64_t steps = 100;
    while (state.KeepRunningBatch(steps)) {
        int64_t left = steps;
        benchmark::DoNotOptimize(t.step.call_all([&](std::vector<Tensor> &in) {
            in = {t.data, t.labels};
            return left-- > 0;
        }));
    }
}

void lenet5_step(benchmark::State &state) {
    run_steps(state, lenet5(momentum));
}
void lenet5_sink(benchmark::State &state) {
    run_sinks(state, lenet5(momentum));
}
// No repetition has a size of an earlier one, whose plans are kept.
void lenet5_new_batch(benchmark::State &state) {
    const Training t = lenet5(momentum);
    static int64_t size = 32;
    for (auto _ : state) {
        state.PauseTiming();
        size++;
        const Tensor data = Tensor::full({size, 1, 32, 32}, 0.5);
        const Tensor labels = Tensor::zeros({size}, DType::i32);
        state.ResumeTiming();
        benchmark::DoNotOptimize(t.step(data, labels));
    }
}
// No benchmark after it would have kernels.
void lenet5_empty_sink(benchmark::State &state) {
    for (const RegisteredOp *op : registry().ops()) {
        for (KernelEntry kernel : op->kernels) {
            kernel.fn = [](void **) { return 0; };
            registry().replace_kernel(kernel);
        }
    }
    run_sinks(state, lenet5(momentum));
}
void dense_step(benchmark::State &state) {
    run_steps(state, small());
}
void dense_sink(benchmark::State &state) {
    run_sinks(state, small());
}
void lenet5_nadam(benchmark::State &state) {
    const Make make = [](const ParameterTuple &p) -> nn::Optimizer { return nn::NAdam(p); };
    run_steps(state, lenet5(make));
}
void lenet5_lamb(benchmark::State &state) {
    const Make make = [](const ParameterTuple &p) -> nn::Optimizer { return nn::Lamb(p, 0.001); };
    run_steps(state, lenet5(make));
}
void lenet5_asgd(benchmark::State &state) {
    const Make make = [](const ParameterTuple &p) -> nn::Optimizer { return nn::ASGD(p, 0.01); };
    run_steps(state, lenet5(make));
}

BENCHMARK(lenet5_step)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_sink)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_nadam)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_lamb)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_asgd)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_new_batch)->Iterations(3)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(dense_step)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(dense_sink)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lenet5_empty_sink)->UseRealTime()->Unit(benchmark::kMicrosecond);  // the last one

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
