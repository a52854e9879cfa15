// usage: data_sink [epochs] [steps of an epoch] [folder] [checkpoint]
// Epochs of sink_size steps with one call of the callbacks each: "On-device execution" and
// "Training", section "Data sinking".
#include <cstdio>
#include <cstdlib>

#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "train/checkpoint/checkpoint.h"
#include "train/model.h"

using namespace halyard;

int main(int argc, char **argv) {
    const int64_t epoch = argc > 1 ? std::atoll(argv[1]) : 10;
    const int64_t sink_size = argc > 2 ? std::atoll(argv[2]) : 1000;
    const dataset::Dataset ds_train = examples::create_dataset(
        argc > 3 ? argv[3] : "data/digits/28/train", 32);

    const examples::LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits net_loss(/*sparse=*/true, /*reduction=*/"mean");
    const nn::Momentum net_opt(network.trainable_params(), 0.01, 0.9);
    Model model(network, net_loss, net_opt);

    std::printf("============== Starting Training ==============\n");
    model.train(epoch, ds_train, {LossMonitor()},
                {.dataset_sink_mode = true, .sink_size = sink_size});
    if (argc > 4) save_checkpoint(network, argv[4]);
}
