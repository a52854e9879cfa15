// usage: resnet_train --dataset_path=FOLDER [--batch_size=32] [--image_size=224] [--epoch_size=90]
// ... Trains ResNet-50 on a folder of images: train.py of "Network migration debugging and tuning".
#include <cstdio>

#include "examples/resnet/config.h"
#include "examples/resnet/cross_entropy_smooth.h"
#include "examples/resnet/dataset.h"
#include "examples/resnet/group_params.h"
#include "examples/resnet/rank.h"
#include "examples/resnet/resnet.h"
#include "examples/resnet/weights.h"
#include "primitives/context.h"
#include "primitives/random.h"
#include "train/checkpoint/model_checkpoint.h"
#include "train/model.h"

using namespace halyard;
using namespace halyard::examples;

namespace {

void train(const resnet::Config &config) {
    // Set seed
    set_seed(1);

    // 1 Resolve parameters and set basic environment
    set_context({.mode = GRAPH_MODE, .device_target = config.device_target});
    resnet::refuse_other_ranks();

    // 2 define data sets
    const dataset::Dataset dataset = resnet::create_dataset(config.dataset_path, config.batch_size,
                                                            /*rank_size=*/1, /*rank_id=*/0, true,
                                                            {.image_size = config.image_size});
    const int64_t step_size = dataset.get_dataset_size();

    // 3 define network structure
    const ResNet net = resnet50(config.class_num);
    // Weight initialization: of convolutions XavierUniform, of dense layers TruncatedNormal
    initialize_weights(net, nn::XavierUniform(), nn::TruncatedNormal());

    // 4 defining loss functions and optimizers
    // Learning rate decay
    const std::vector<double> lr = nn::cosine_decay_lr(
        config.lr_end, config.lr, config.epoch_size * step_size, step_size, config.warmup);
    // SGD optimizer with momentum, weight decay of all but gamma, beta and bias
    const nn::Momentum opt(group_params(net.trainable_params(), config.weight_decay), lr,
                           config.momentum);
    // Cross entropy loss
    const CrossEntropySmooth loss(/*sparse=*/true, "mean", config.label_smooth_factor,
                                  config.class_num);

    // 5 define model and callback function
    Model model(net, loss, opt, {"acc"});
    Callbacks cb = {TimeMonitor(), LossMonitor()};
    if (config.save_checkpoint) {
        const CheckpointConfig config_ck = {.save_checkpoint_steps = config.save_checkpoint_epochs *
                                                                     step_size,
                                            .keep_checkpoint_max = config.keep_checkpoint_max};
        cb.push_back(ModelCheckpoint("resnet", config.save_checkpoint_path, config_ck));
    }
    model.train(config.epoch_size, dataset, cb);
}

}  // namespace

int main(int argc, char **argv) {
    try {
        train(resnet::Config::from(argc, argv));
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
