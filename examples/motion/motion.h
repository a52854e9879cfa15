// Tells a raised wrist from other movements by one second of an accelerometer: a network for a
// microcontroller, and movements to train it on.
#pragma once
#include <string>

#include "nn/activation.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "primitives/ops/shapes.h"
#include "train/data/dataset.h"

namespace halyard::examples {

// Maps readings[batch_size,3,length] to logits[batch_size,classes]; length >= 5.
class MotionNet : public nn::Cell {
public:
    explicit MotionNet(int64_t length = 50, int64_t classes = 2)
        : features(channels * ((length - kernel_size) / stride + 1)), num_class(classes) {}

    static constexpr int64_t channels = 8, kernel_size = 5, stride = 2;
    int64_t features, num_class;
    nn::Conv1d conv = child("conv",
                            nn::Conv1d(3, channels, kernel_size,
                                       {.stride = stride, .pad_mode = "valid", .has_bias = true}));
    nn::Dense fc1 = child("fc1", nn::Dense(features, 16));
    nn::Dense fc2 = child("fc2", nn::Dense(16, num_class));
    nn::ReLU relu;

    Tensor construct(const Tensor &readings) const override {
        Tensor x = relu(conv(readings));
        x = F::reshape(x, {x.size(0), -1});
        x = relu(fc1(x));
        return fc2(x);
    }
};

// Writes out/train with this number of rows, and out/test with a quarter of it. Each has
// readings.npy f32[n,3,length], in units of g at 50 readings a second, and labels.npy i32[n]. The
// movements are computed. Every second one is an arm that is raised until the watch can be read,
// with label 1. The others, with label 0, rest, walk, sink or turn to another side. Throws IoError.
void write_motions(const std::string &out, int64_t rows, int64_t length = 50, uint64_t seed = 1);

// Returns batches of "readings" f32[batch_size,3,length] and "label" i32[batch_size] from the two
// files in `folder`. Throws IoError; ShapeError for readings of another length.
dataset::Dataset create_motion_dataset(const std::string &folder, int64_t length,
                                       int64_t batch_size, bool shuffle = true);

}  // namespace halyard::examples
