// Measures an encoder layer of BERT-base in evaluation on 128 tokens: 768 numbers each, 12 heads, a
// feed-forward layer of 3072 with gelu. bench/peers/compare_step.py interleaves it with other
// frameworks. peak_MB is the process's peak resident memory.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "nn/transformer.h"
#include "primitives/autograd/tape.h"
#include "primitives/random.h"

namespace halyard {
namespace {

void bert_layer(benchmark::State &state) {
    set_seed(1);
    const nn::TransformerEncoderLayer layer(
        768, 12, {.dim_feedforward = 3072, .activation = "gelu", .batch_first = true});
    const Shape shape{1, 128, 768};
    std::vector<float> values;
    for (int64_t k = 0; k < shape.elements(); k++)
        values.push_back(float(k * 7919 % 2003) / 1001.F - 1.F);
    const Tensor x = Tensor::from(values, shape);
    const StopTape stop;
    for (int k = 0; k < 70; k++)  // graph mode records the 64th call again
        layer(x);
    for (auto _ : state)
        benchmark::DoNotOptimize(layer(x));
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["peak_MB"] = double(usage.ru_maxrss) / 1024;
}
BENCHMARK(bert_layer)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
