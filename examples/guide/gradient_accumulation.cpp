// usage: gradient_accumulation [epochs] [folder] [checkpoint]
// Trains LeNet5 in batches of 8 with an update after every 4: the steps of batches of 32 in a
// quarter of their memory.
#include <cstdio>
#include <cstdlib>

#include "examples/guide/gradient_accumulation.h"
#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "train/checkpoint/checkpoint.h"

using namespace halyard;

int main(int argc, char **argv) {
    const int64_t epochs = argc > 1 ? std::atoll(argv[1]) : 30;
    const int mini_steps = 4;
    const dataset::Dataset ds_train = examples::create_dataset(
        argc > 2 ? argv[2] : "data/digits/28/train", 8);

    const examples::LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits net_loss(/*sparse=*/true, /*reduction=*/"mean");
    const nn::Momentum net_opt(network.trainable_params(), 0.01, 0.9);
    const ParameterTuple grad_sum = examples::zeros_like(network.trainable_params());
    const examples::TrainForwardBackward train_forward_backward(nn::WithLossCell(network, net_loss),
                                                                grad_sum);

    train_forward_backward.set_train();
    for (int64_t epoch = 0; epoch < epochs; epoch++) {
        int64_t step = 0;
        Tensor loss;
        for (const dataset::Row &row : ds_train.create_dict_iterator(uint64_t(epoch))) {
            loss = train_forward_backward(row["image"], row["label"]);
            if (++step % mini_steps == 0) examples::optimize(net_opt, grad_sum, mini_steps);
        }
        std::printf("epoch: %lld step: %lld loss is %.6f\n", (long long)epoch + 1, (long long)step,
                    loss.item());
    }
    if (argc > 3) save_checkpoint(network, argv[3]);
}
