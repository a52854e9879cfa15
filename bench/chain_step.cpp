// Measures chains of elementwise ops, composed of primitives: op by op, with
// HALYARD_MODE=GRAPH_MODE captured, and with HALYARD_ENABLE_GRAPH_KERNEL=1 in one kernel.
// bench/peers/compare_step.py interleaves it with other frameworks.
#include <benchmark/benchmark.h>

#include "graph/fused_kernels.h"
#include "nn/cell.h"
#include "primitives/operators.h"
#include "primitives/ops.h"

namespace halyard {
namespace {

// Six ops: a scale and a shift for each column, and a gated residual.
class GatedResidual : public nn::Cell {
public:
    explicit GatedResidual(int64_t columns)
        : scale_(Tensor::full({columns}, 0.7)), shift_(Tensor::full({columns}, -0.1)) {}
    Tensor construct(const Tensor &x) const override {
        const Tensor y = x * scale_ + shift_;
        return F::relu(F::tanh(y) * x + y);
    }

private:
    Tensor scale_, shift_;
};

Tensor rows_of(const Shape &shape) {
    std::vector<float> v;
    for (int64_t k = 0; k < shape.elements(); k++)
        v.push_back(float(k % 97) / 48 - 1);
    return Tensor::from(v, shape);
}

void run(benchmark::State &state, const Shape &shape) {
    const GatedResidual cell(shape[1]);
    const Tensor x = rows_of(shape);
    // Graph mode records some of the first calls, and asks for kernels after them.
    constexpr int warm = 70;
    for (int k = 0; k < warm; k++)
        cell(x);
    graph::wait_for_fused_kernels();
    for (auto _ : state)
        benchmark::DoNotOptimize(cell(x));
}

void chain_small(benchmark::State &state) {
    run(state, {32, 128});
}
void chain_middle(benchmark::State &state) {
    run(state, {256, 1024});
}
void chain_large(benchmark::State &state) {
    run(state, {4096, 1024});
}

BENCHMARK(chain_small)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(chain_middle)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(chain_large)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
