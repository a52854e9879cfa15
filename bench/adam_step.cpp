// Measures updates by Adam of 200 parameters, 100 weights of 256 x 512 and 100 biases of 512:
// 13,158,400 numbers, of which each step reads four arrays and writes three, 368 MB. The optimiser
// is called op by op in every mode. bench/peers/compare_step.py interleaves it with other
// frameworks.
#include <benchmark/benchmark.h>

#include "nn/optimizer.h"

namespace halyard {
namespace {

void adam_200(benchmark::State &state) {
    std::vector<Parameter> parameters;
    std::vector<Tensor> gradients;
    for (int k = 0; k < 100; k++) {
        for (const Shape &shape : {Shape{256, 512}, Shape{512}}) {
            const std::string name = std::to_string(parameters.size());
            parameters.emplace_back(Tensor::full(shape, 0.5), name);
            gradients.push_back(Tensor::full(shape, 0.25));
        }
    }
    const nn::Adam adam(ParameterTuple(parameters), 1e-3);
    for (int k = 0; k < 3; k++)
        adam(gradients);
    for (auto _ : state)
        benchmark::DoNotOptimize(adam(gradients));
}
BENCHMARK(adam_200)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
