// usage: custom_training_loop [epochs] [steps of an epoch] [folder] [checkpoint]
// A handwritten training loop in place of Model::train: "Training", section "Custom training loop".
#include <cstdio>
#include <cstdlib>

#include "examples/guide/train_one_step_cell.h"
#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "train/checkpoint/checkpoint.h"
#include "train/data/dataset_helper.h"

using namespace halyard;

int main(int argc, char **argv) {
    const int64_t epoch = argc > 1 ? std::atoll(argv[1]) : 10;
    const int64_t sink_size = argc > 2 ? std::atoll(argv[2]) : 100;
    const dataset::Dataset ds_train = examples::create_dataset(
        argc > 3 ? argv[3] : "data/digits/28/train", 32);

    const examples::LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits net_loss(/*sparse=*/true, /*reduction=*/"mean");
    const nn::Momentum net_opt(network.trainable_params(), 0.01, 0.9);
    const examples::TrainOneStepCell net(nn::WithLossCell(network, net_loss), net_opt);

    DatasetHelper dataset_helper(ds_train, /*dataset_sink_mode=*/true, sink_size);
    network.set_train();
    std::printf("============== Starting Training ==============\n");
    for (int64_t step = 0; step < epoch; step++) {
        Tensor output;
        for (const dataset::Row &inputs : dataset_helper)
            output = net(inputs[0], inputs[1]);
        std::printf("epoch: %lld/%lld, losses: %.15g\n", (long long)step + 1, (long long)epoch,
                    output.item());
    }
    if (argc > 4) save_checkpoint(network, argv[4]);
}
