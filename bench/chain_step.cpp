// Measures chains of elementwise ops, and one with a reduction, composed of primitives: op by op,
// with HALYARD_MODE=GRAPH_MODE captured, and with HALYARD_ENABLE_GRAPH_KERNEL=1 in one kernel.
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

// The normalisation by the root of the mean square.
class RmsNorm : public nn::Cell {
public:
    explicit RmsNorm(int64_t columns) : gain_(Tensor::full({columns}, 0.7)) {}
    Tensor construct(const Tensor &x) const override {
        return x * F::rsqrt(F::reduce_mean(F::square(x), {1}, true) + 1e-5) * gain_;
    }

private:
    Tensor gain_;
};

Tensor rows_of(const Shape &shape) {
    std::vector<float> v;
    for (int64_t k = 0; k < shape.elements(); k++)
        v.push_back(float(k % 97) / 48 - 1);
    return Tensor::from(v, shape);
}

template<class Cell> void run(benchmark::State &state, const Shape &shape) {
    const Cell cell(shape[1]);
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
    run<GatedResidual>(state, {32, 128});
}
void chain_middle(benchmark::State &state) {
    run<GatedResidual>(state, {256, 1024});
}
void chain_large(benchmark::State &state) {
    run<GatedResidual>(state, {4096, 1024});
}

void chain_rms(benchmark::State &state) {
    run<RmsNorm>(state, {1024, 1024});
}

void chain_rms_large(benchmark::State &state) {
    run<RmsNorm>(state, {4096, 1024});
}

BENCHMARK(chain_small)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(chain_middle)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(chain_large)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(chain_rms)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(chain_rms_large)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
