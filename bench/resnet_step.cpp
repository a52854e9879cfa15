// Measures ResNet-50 at 224 x 224: a training step with batch 4 (forward, backward,
// Momentum), and forward in evaluation with batch 1, which MobileNetV2 has, too.
// bench/peers/compare_step.py interleaves them with other frameworks. peak_MB is the process's peak
// resident memory.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "examples/mobilenet/mobilenet_v2.h"
#include "examples/resnet/resnet.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "primitives/autograd/tape.h"
#include "primitives/random.h"

namespace halyard {
namespace {

Tensor images(int64_t n) {
    Tensor x = Tensor::empty({n, 3, 224, 224});
    for (int64_t i = 0; i < x.elements(); i++)
        x.data<float>()[i] = float(i * 7919 % 2003) / 1001.F - 1.F;
    return x;
}

void report_memory(benchmark::State &state) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["peak_MB"] = double(usage.ru_maxrss) / 1024;
}

void resnet50_step(benchmark::State &state) {
    set_seed(1);
    const examples::ResNet network = examples::resnet50(1000);
    network.set_train();
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::TrainOneStepCell step(nn::WithLossCell(network, loss),
                                    nn::Momentum(network.trainable_params(), 0.01, 0.9));
    const Tensor x = images(4);
    const Tensor labels = Tensor::zeros({4}, DType::i32);
    for (int k = 0; k < 5; k++)  // graph mode records the first, second and fourth
        step(x, labels);
    for (auto _ : state)
        benchmark::DoNotOptimize(step(x, labels).item());
    report_memory(state);
}
BENCHMARK(resnet50_step)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Calls a network in evaluation on one image of 224 x 224.
void run_forward(benchmark::State &state, const nn::Cell &network) {
    const Tensor x = images(1);
    const StopTape stop;
    for (int k = 0; k < 9; k++)  // graph mode records the first, second, fourth and eighth
        network(x);
    for (auto _ : state)
        benchmark::DoNotOptimize(network(x).at({0, 0}));
    report_memory(state);
}

void resnet50_forward(benchmark::State &state) {
    set_seed(1);
    run_forward(state, examples::resnet50(1000));
}
BENCHMARK(resnet50_forward)->UseRealTime()->Unit(benchmark::kMicrosecond);

void mobilenet_forward(benchmark::State &state) {
    set_seed(1);
    run_forward(state, examples::MobileNetV2(1000));
}
BENCHMARK(mobilenet_forward)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
