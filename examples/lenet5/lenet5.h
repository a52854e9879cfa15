// LeNet5 on MNIST files: the network, its data and its training in one sitting.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "nn/activation.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/pooling.h"
#include "train/callback.h"
#include "train/dataset.h"

namespace halyard::examples {

// x[batch_size,1,32,32] -> logits[batch_size,num_class]
class LeNet5 : public nn::Cell {
public:
    explicit LeNet5(int64_t num_class = 10);
    Tensor construct(const Tensor &in) const override;

    nn::Conv2d conv1, conv2;
    nn::Dense fc1, fc2, fc3;
    nn::ReLU relu;
    nn::MaxPool2d max_pool2d;
};

// Batches of "image" f32[batch_size,1,32,32] and "label" i32[batch_size] from the MNIST files in `data_path`.
dataset::Dataset create_dataset(const std::string &data_path, int64_t batch_size = 32, int64_t repeat_size = 1, bool shuffle = true);

struct LeNet5Options {
    std::string train_path = "data/digits/28/train", test_path = "data/digits/28/test";
    int64_t epochs = 60, batch_size = 32;
    double learning_rate = 0.01, momentum = 0.9;
    uint64_t seed = 1;
    Callbacks callbacks = {};
};

struct LeNet5Result {
    std::vector<double> losses;  // the mean of each epoch
    double accuracy = 0, test_loss = 0;  // on the whole batches of the test files
};

LeNet5Result train_lenet5(const LeNet5Options &options = {});

}  // namespace halyard::examples
