// Trains LeNet-5 or another network of `halyard train` op by op, for run_compile.sh: writes the
// graph of the first step, the batches and rates of all steps with their losses, and the tensors
// after the last. Usage: eager_steps DIGITS STEPS OUT_FOLDER, or eager_steps IMAGES STEPS
// OUT_FOLDER NETWORK. The network trains with Adam, LeNet-5 with Momentum.
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
#include "primitives/random.h"
#include "registry/base/error.h"
#include "train/checkpoint/saved_graph.h"

namespace {
using namespace halyard;

void write(std::ofstream &file, const Tensor &t) {
    const Tensor dense = t.contiguous();
    if (dense.dtype() == DType::i32)
        file.write(reinterpret_cast<const char *>(dense.data<int32_t>()),
                   std::streamsize(dense.bytes()));
    else
        file.write(reinterpret_cast<const char *>(dense.data<float>()),
                   std::streamsize(dense.bytes()));
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

void run_network(const std::string &name, const std::string &images, int64_t steps,
                 const std::string &out) {
    examples::Settings settings = examples::recipe(name).defaults;
    settings.data = images;
    settings.batch_size = 2;
    settings.size = 32;
    const examples::Experiment e = examples::recipe(name).prepare(settings);
    e.network.set_train();
    const nn::Adam optimizer(e.network.trainable_params(), rate_of);
    run(e.network, optimizer, corrected_rate_of, e.loss, e.train_set, steps, out);
}

}  // namespace

int main(int argc, char **argv) {
    try {
        set_seed(10);
        if (argc > 4)
            run_network(argv[4], argv[1], std::stoll(argv[2]), argv[3]);
        else
            run_lenet5(argv[1], std::stoll(argv[2]), argv[3]);
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
