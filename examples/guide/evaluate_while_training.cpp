// usage: evaluate_while_training [epochs] [epochs between evaluations] [folder with train/, test/]
// [checkpoint]
// "Training", section "Evaluating while training".
#include <cstdlib>

#include "examples/guide/evaluation_callback.h"
#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "train/checkpoint/checkpoint.h"

using namespace halyard;

int main(int argc, char **argv) {
    const int64_t epoch_size = argc > 1 ? std::atoll(argv[1]) : 60;
    const int64_t eval_per_epoch = argc > 2 ? std::atoll(argv[2]) : 10;
    const std::string data_path = argc > 3 ? argv[3] : "data/digits/28";
    const dataset::Dataset train_data = examples::create_dataset(data_path + "/train", 32);
    const dataset::Dataset eval_data = examples::create_dataset(data_path + "/test", 32, 1,
                                                                /*shuffle=*/false);

    const examples::LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits net_loss(/*sparse=*/true, /*reduction=*/"mean");
    const nn::Momentum net_opt(network.trainable_params(), 0.01, 0.9);
    Model model(network, net_loss, net_opt, {{"Accuracy", Accuracy()}});

    examples::EvalCallBack::Record epoch_per_eval;
    const examples::EvalCallBack eval_cb(model, eval_data, eval_per_epoch, epoch_per_eval);
    model.train(epoch_size, train_data, {LossMonitor(train_data.get_dataset_size()), eval_cb});
    if (argc > 4) save_checkpoint(network, argv[4]);
    return epoch_per_eval.acc.empty() ? 1 : 0;
}
