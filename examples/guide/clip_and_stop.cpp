// usage: clip_and_stop [epochs] [folder with train/ and test/] [checkpoint]
// Trains LeNet5 with a learning rate that needs clipped gradients, stops when it no longer
// improves, and restores the weights of the best epoch.
#include <cstdio>
#include <cstdlib>

#include "examples/guide/clipped_step.h"
#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "train/callbacks/plateau.h"
#include "train/checkpoint/checkpoint.h"
#include "train/model.h"

using namespace halyard;

int main(int argc, char **argv) {
    const int64_t epochs = argc > 1 ? std::atoll(argv[1]) : 100;
    const std::string data_path = argc > 2 ? argv[2] : "data/digits/28";
    const dataset::Dataset train_data = examples::create_dataset(data_path + "/train", 32);
    const dataset::Dataset eval_data = examples::create_dataset(data_path + "/test", 32, 1,
                                                                /*shuffle=*/false);

    const examples::LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits net_loss(/*sparse=*/true, /*reduction=*/"mean");
    const nn::Momentum net_opt(network.trainable_params(), 0.1, 0.9);
    Model model(network, net_loss, net_opt, {"accuracy"});
    model.set_train_network(
        examples::ClippedStep(nn::WithLossCell(network, net_loss), net_opt, /*largest=*/0.5));

    const EarlyStopping early_stopping(
        {.monitor = "accuracy", .patience = 15, .verbose = true, .restore_best_weights = true});
    model.fit(epochs, train_data, eval_data, {LossMonitor(0), early_stopping});
    std::printf("accuracy: %.4f\n", model.eval(eval_data).at("accuracy"));
    if (argc > 3) save_checkpoint(network, argv[3]);
}
