// fused_run SEED COUNT: computes COUNT random chains of elementwise ops in each of four threads, in
// graph mode with kernels for regions, and compares each result with that of the ops alone. The
// exit status is 1 if bits differ. graph_test kills the processes that compile the kernels.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "graph/fused_kernels.h"
#include "graph/replay.h"
#include "primitives/context.h"
#include "primitives/ops.h"

namespace {
using namespace halyard;

using Unary = Tensor (*)(const Tensor &);
constexpr Unary unary[] = {
    [](const Tensor &x) { return F::tanh(x); }, [](const Tensor &x) { return F::exp(x); },
    [](const Tensor &x) { return F::neg(x); }, [](const Tensor &x) { return F::square(x); },
    [](const Tensor &x) { return F::sigmoid(x); }};

Tensor computed(const std::vector<size_t> &ops, const Tensor &x, const Tensor &y) {
    Tensor t = x;
    for (const size_t op : ops)
        t = op < std::size(unary) ? unary[op](t) : F::add(F::mul(t, y), x);
    return t;
}

Tensor random_tensor(std::mt19937 &rng) {
    std::vector<float> v(5 * 33);
    for (float &number : v)
        number = float(rng()) / float(std::mt19937::max()) - 0.5F;
    return Tensor::from(v, {5, 33});
}

// Returns how many results differ.
int differing(unsigned seed, int count) {
    std::mt19937 rng(seed);
    int differ = 0;
    for (int k = 0; k < count; k++) {
        std::vector<size_t> ops(2 + rng() % 5);
        for (size_t &op : ops)
            op = rng() % (std::size(unary) + 1);
        graph::Replay replay("f");
        for (int call = 0; call < 7; call++) {
            const std::vector<Tensor> in{random_tensor(rng), random_tensor(rng)};
            const Tensor got = replay.run(in, {}, [&](std::span<const Tensor> x) {
                return std::vector<Tensor>{computed(ops, x[0], x[1])};
            })[0];
            differ += got.to_vector<float>() != computed(ops, in[0], in[1]).to_vector<float>();
            if (call == 2) graph::wait_for_fused_kernels();
        }
    }
    return differ;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const auto seed = unsigned(std::atoi(argv[1]));
    const int count = std::atoi(argv[2]);
    set_context({.mode = GRAPH_MODE, .enable_graph_kernel = true});
    graph::set_least_fused_ratio(0);
    std::atomic<int> differ = 0;
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < 4; k++)
        threads.emplace_back([&, k] { differ += differing(seed + k, count); });
    for (std::thread &t : threads)
        t.join();
    size_t used = 0;
    const auto results = graph::fused_results();
    for (const graph::FusedResult &r : results)
        used += r.is_used;
    std::printf("%zu regions, %zu with a kernel, %d results differ\n", results.size(), used,
                differ.load());
    return differ ? 1 : 0;
}
