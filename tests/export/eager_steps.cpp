// Trains LeNet-5 or another network of `halyard train` op by op, for run_compile.sh: writes the
// graph of the first step, the batches and rates of all steps with their losses, and the tensors
// after the last. Usage: eager_steps DIGITS STEPS OUT_FOLDER, or eager_steps DATA STEPS OUT_FOLDER
// NETWORK [DTYPE], which computes in this dtype. The network trains with Adam, LeNet-5 with
// Momentum. Before the first step the generator of random numbers is at {seed 11, offset 2^32 - 3}.
// Two graphs of functions are written, too: sorted.graph, which sorts, and chosen.graph, which
// takes elements at places that it computes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "examples/lenet5/lenet5.h"
#include "examples/recipes.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/ops/argmax.h"
#include "primitives/ops/scatter.h"
#include "primitives/ops/sorting.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "train/checkpoint/saved_graph.h"

namespace {
using namespace halyard;

void write(std::ofstream &file, const Tensor &t) {
    const Tensor dense = t.contiguous();
    file.write(static_cast<const char *>(dense.raw()), std::streamsize(dense.bytes()));
}

void write_tensors(const std::string &path, const ParameterTuple &some) {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    for (const Parameter &p : some) {
        if (p.data().dtype() != DType::f32) continue;
        char name[64] = {};
        p.name().copy(name, sizeof name - 1);
        const auto bytes = int64_t(p.data().bytes());
        file.write(name, sizeof name);
        file.write(reinterpret_cast<const char *>(&bytes), sizeof bytes);
        write(file, p.data());
    }
}

double rate_of(int64_t step) {
    return 0.02 / double(1 + step % 7);
}

// What Adam passes to its op in place of the rate.
double corrected_rate_of(int64_t step) {
    const nn::AdamOptions o;
    const auto t = double(step + 1);
    return rate_of(step) * std::sqrt(1 - std::pow(o.beta2, t)) / (1 - std::pow(o.beta1, t));
}

void run(const nn::AnyCell &network, const nn::Optimizer &optimizer,
         double (*number_of)(int64_t step), const nn::AnyCell &loss, const dataset::Dataset &data,
         int64_t steps, const std::string &out) {
    const nn::WithLossCell with_loss(network, loss);
    const nn::TrainOneStepCell step(with_loss, optimizer);
    dataset::RowIterator rows = data.create_dict_iterator();
    set_rng_state({11, (uint64_t(1) << 32) - 3});
    std::ofstream file(out + "/steps.bin", std::ios::binary);
    dataset::Row row;
    for (int64_t k = 0; k < steps && rows.next(row); k++) {
        if (k == 0) export_step(step, {row[0], row[1]}, out + "/step.graph");
        const double number = number_of(k);
        const Tensor result = step(row[0], row[1]);
        write(file, row[0]);
        write(file, row[1]);
        file.write(reinterpret_cast<const char *>(&number), sizeof number);
        write(file, result);
    }
    write_tensors(out + "/after.bin", network.get_parameters());
    write_tensors(out + "/after.bin", optimizer.get_parameters());
}

void run_lenet5(const std::string &digits, int64_t steps, const std::string &out) {
    const examples::LeNet5 network;
    const nn::Momentum optimizer(network.trainable_params(), rate_of, 0.9);
    run(network, optimizer, rate_of, nn::SoftmaxCrossEntropyWithLogits(true, "mean"),
        examples::create_dataset(digits, 32, steps), steps, out);
}

void run_network(const std::string &name, const std::string &dtype, const std::string &data,
                 int64_t steps, const std::string &out) {
    examples::Settings settings = examples::recipe(name).defaults;
    settings.data = data;
    settings.batch_size = 2;
    settings.size = 32;
    const examples::Experiment e = examples::recipe(name).prepare(settings);
    e.network.set_train();
    if (!dtype.empty()) e.network.to_float(dtype_of(dtype));
    const nn::Adam optimizer(e.network.trainable_params(), rate_of);
    run(e.network, optimizer, corrected_rate_of, e.loss, e.train_set, steps, out);
}

struct Sorted : nn::Cell {
    Tensor construct(const Tensor &x) const override { return F::topk(x, 3)[0]; }
};

// Takes the element of each row that is `shift` places behind the largest.
struct Chosen : nn::Cell {
    Tensor construct(const Tensor &x, const Tensor &shift) const override {
        return F::gather_elements(x, F::argmax(x, 1).reshape({x.size(0), 1}) + shift, 1);
    }
};

void write_functions(const std::string &out) {
    export_graph(Sorted(), {Tensor::ones({8})}, out + "/sorted.graph");
    export_graph(Chosen(), {Tensor::ones({4, 8}), Tensor::zeros({4, 1}, DType::i32)},
                 out + "/chosen.graph");
}

}  // namespace

int main(int argc, char **argv) {
    try {
        set_seed(10);
        if (argc > 4)
            run_network(argv[4], argc > 5 ? argv[5] : "", argv[1], std::stoll(argv[2]), argv[3]);
        else
            run_lenet5(argv[1], std::stoll(argv[2]), argv[3]);
        write_functions(argv[3]);
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
