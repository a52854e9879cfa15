// usage: resume_run DIRECTORY RESULT [NETWORK DATA]
//
// Resumes a training from DIRECTORY's latest checkpoint, if there is one, trains to the end, and
// writes the last state to RESULT. It prints "training" before the first step; resume_test.cpp
// kills it. NETWORK is a network of examples/recipes.h that learns images, and DATA the folder with
// them, which is created if missing. Without them LeNet-5 with dropout learns the digits.
#include <cstdio>
#include <filesystem>

#include "examples/images/image_folders.h"
#include "examples/lenet5/lenet5.h"
#include "examples/recipes.h"
#include "nn/basic.h"
#include "nn/loss.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "train/checkpoint/model_checkpoint.h"
#include "train/checkpoint/training_state.h"
#include "train/model.h"

using namespace halyard;

namespace {

// Has everything that may make a resumed training differ: random masks, random orders, an optimiser
// and a rate with state.
class Net : public nn::Cell {
    nn::Dropout dropout = child("dropout", nn::Dropout(0.2));
    examples::LeNet5 lenet = child("lenet", examples::LeNet5(10));
    Tensor construct(const Tensor &x) const override { return lenet(dropout(x)); }
};

struct Began : Callback {
    void on_train_begin(RunContext &) override {
        std::puts("training");
        std::fflush(stdout);
    }
};

constexpr int64_t epochs = 2;

examples::Experiment digits() {
    const dataset::Dataset data = examples::create_dataset(HALYARD_SOURCE_DIR
                                                           "/data/digits/28/train");
    const Net net;
    const auto rates = nn::cosine_decay_lr(0, 0.002, epochs * data.get_dataset_size(),
                                           data.get_dataset_size(), epochs);
    return {data,
            data,
            net,
            nn::SoftmaxCrossEntropyWithLogits(true, "mean"),
            nn::Adam(net.trainable_params(), rates),
            {}};
}

examples::Experiment images(const char *network, const std::string &folder) {
    if (!std::filesystem::exists(folder))
        examples::write_photographs(HALYARD_SOURCE_DIR "/data/photographs", folder, 72, 48);
    return examples::recipe(network).prepare(
        {.data = folder, .epochs = epochs, .batch_size = 4, .size = 64});
}

void run(const std::string &directory, const std::string &result, const char *network,
         const char *data) {
    set_seed(3);
    const examples::Experiment e = network ? images(network, data) : digits();
    Model model(e.network, e.loss, e.optimizer);
    TrainOptions from;
    if (const auto last = latest_checkpoint(directory)) from = model.resume(*last);
    const ModelCheckpoint checkpoint(
        "CKP", directory,
        {.save_checkpoint_steps = 7, .keep_checkpoint_max = 2, .format = "safetensors"});
    model.train(epochs, e.train_set, {Began(), checkpoint}, from);
    save_training_state(result, model.train_network(), e.optimizer, {epochs, 0});
}

}  // namespace

int main(int argc, char **argv) {
    try {
        if (argc != 3 && argc != 5)
            throw Error("resume_run", "usage: resume_run DIRECTORY RESULT [NETWORK DATA]");
        run(argv[1], argv[2], argc > 3 ? argv[3] : nullptr, argc > 3 ? argv[4] : nullptr);
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
