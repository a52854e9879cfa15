// usage: resume_run DIRECTORY RESULT: a training that goes on from DIRECTORY's latest checkpoint, if there is one, to its end, and writes its
// last state to RESULT. "training" on standard output says that the first step is due. resume_test.cpp kills it.
#include <cstdio>

#include "examples/lenet5/lenet5.h"
#include "nn/basic.h"
#include "nn/loss.h"
#include "primitives/random.h"
#include "registry/error.h"
#include "train/model.h"
#include "train/model_checkpoint.h"
#include "train/training_state.h"

using namespace halyard;

namespace {

// All that may make a resumed training another one: random masks, random orders, and an optimiser and a rate that remember.
class Net : public nn::Cell {
    nn::Dropout dropout = child("dropout", nn::Dropout(0.2));
    examples::LeNet5 lenet = child("lenet", examples::LeNet5(10));
    Tensor construct(const Tensor &x) const override { return lenet(dropout(x)); }
};

struct Began : Callback {
    void on_train_begin(RunContext &) override { std::puts("training"), std::fflush(stdout); }
};

void run(const std::string &directory, const std::string &result) {
    constexpr int64_t epochs = 2;
    set_seed(3);
    const dataset::Dataset data = examples::create_dataset(HALYARD_SOURCE_DIR "/data/digits/28/train");
    const Net net;
    const nn::Adam adam(net.trainable_params(), nn::cosine_decay_lr(0, 0.002, epochs * data.get_dataset_size(), data.get_dataset_size(), epochs));
    Model model(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"), adam);
    TrainOptions from;
    if (const auto last = latest_checkpoint(directory)) from = model.resume(*last);
    model.train(epochs, data, {Began(), ModelCheckpoint("CKP", directory, {.save_checkpoint_steps = 7, .keep_checkpoint_max = 2, .format = "safetensors"})},
                from);
    save_training_state(result, model.train_network(), adam, {epochs, 0});
}

}  // namespace

int main(int argc, char **argv) {
    try {
        if (argc != 3) throw Error("resume_run", "usage: resume_run DIRECTORY RESULT");
        run(argv[1], argv[2]);
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
