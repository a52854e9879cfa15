// usage: custom_network [checkpoint]
// A custom training network: "Training", section "Custom training network". It prints 32 losses of
// 0, as in the document, because labels that are all zero have no loss.
#include <cstdio>

#include "examples/guide/relu_reduce_mean_dense.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "primitives/ops/random.h"
#include "train/checkpoint/checkpoint.h"

using namespace halyard;

int main(int argc, char **argv) {
    const Tensor weight = Tensor::ones({1000, 2048});
    const Tensor bias = Tensor::ones({1000});
    const examples::ReLUReduceMeanDense net(weight, bias, 2048, 1000);

    const nn::SoftmaxCrossEntropyWithLogits criterion(/*sparse=*/false);
    const nn::Momentum optimizer(net.trainable_params(), /*learning_rate=*/0.1, /*momentum=*/0.1);
    const nn::WithLossCell net_with_criterion(net, criterion);
    const nn::TrainOneStepCell train_network(net_with_criterion, optimizer);
    train_network.set_train();

    const Tensor input = F::randn({32, 2048, 7, 7});
    const Tensor label = Tensor::zeros({32, 1000});
    for (int i = 0; i < 1; i++) {
        const Tensor loss = train_network(input, label);
        std::printf("-------loss------ %s\n", loss.text(32).c_str());
    }
    if (argc > 1) save_checkpoint(net, argv[1]);
}
