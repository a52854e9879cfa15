// Measures the overhead of a call: add of 16 elements, from the F:: function down to the kernel.
// The overhead of a cached call is F_add minus kernel.
#include <benchmark/benchmark.h>

#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"

namespace halyard {
namespace {

struct Call {
    const RegisteredOp &op = library().at("add");
    const Attrs attrs{op.record};
    const std::vector<Tensor> in = {Tensor::ones({16}), Tensor::ones({16})};
    const std::vector<Tensor> out = {Tensor::empty({16})};
};

void F_add(benchmark::State &state) {
    const Call c;
    for (auto _ : state)
        benchmark::DoNotOptimize(F::add(c.in[0], c.in[1]));
}
void dispatch_vector(benchmark::State &state) {
    const Call c;
    for (auto _ : state)
        benchmark::DoNotOptimize(dispatch(c.op, c.in, c.attrs));
}
void dispatch_one(benchmark::State &state) {
    const Call c;
    for (auto _ : state)
        benchmark::DoNotOptimize(dispatch1(c.op, c.in, c.attrs));
}
void dispatch_into_ours(benchmark::State &state) {
    const Call c;
    for (auto _ : state)
        dispatch_into(c.op, c.in, c.attrs, c.out);
}
void kernel(benchmark::State &state) {
    const Call c;
    const std::vector<OperandMeta> metas = metas_of(c.in);
    const Plan plan = make_plan(c.op, metas, c.attrs);
    for (auto _ : state)
        run_plan(plan, c.in, c.attrs, c.out);
}
// Measures the cost of a shape's first call.
void measure_planning(benchmark::State &state, const RegisteredOp &op,
                      const std::vector<Tensor> &in) {
    const Attrs attrs(op.record);
    const std::vector<OperandMeta> metas = metas_of(in);
    for (auto _ : state)
        benchmark::DoNotOptimize(make_plan(op, metas, attrs));
}
void planning(benchmark::State &state) {
    const Call c;
    measure_planning(state, c.op, c.in);
}
void planning_matmul(benchmark::State &state) {
    measure_planning(state, library().at("matmul"), {Tensor::ones({4, 16}), Tensor::ones({16, 8})});
}
void planning_conv2d(benchmark::State &state) {
    measure_planning(state, library().at("conv2d"),
                     {Tensor::ones({1, 4, 8, 8}), Tensor::ones({4, 4, 3, 3})});
}
void tensor_empty(benchmark::State &state) {
    for (auto _ : state)
        benchmark::DoNotOptimize(Tensor::empty({16}));
}
BENCHMARK(F_add);
BENCHMARK(dispatch_vector);
BENCHMARK(dispatch_one);
BENCHMARK(dispatch_into_ours);
BENCHMARK(kernel);
BENCHMARK(planning);
BENCHMARK(planning_matmul);
BENCHMARK(planning_conv2d);
BENCHMARK(tensor_empty);

}  // namespace
}  // namespace halyard

BENCHMARK_MAIN();
