// Networks to train, each with the data, loss, optimiser and metrics that go with it: what `halyard
// train` knows, and one place for them all.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "nn/cell.h"
#include "nn/optimizer.h"
#include "train/data/dataset.h"
#include "train/metrics/metric_set.h"
#include "train/vision/image.h"

namespace halyard::examples {

struct Settings {
    std::string data;  // a folder of what the network learns from
    int64_t epochs = 1, batch_size = 32;
    int64_t size = 0;  // of images the height and width, of texts the bytes of a piece
    double learning_rate = 0.01;
    int num_parallel_workers = 0;  // threads that prepare images; 0: all
    // of images to train on: random parts and mirror images
    bool augment = false;
    // of image files: leave out, with a warning, what is none; else it ends the training
    bool skip_damaged = false;
    int64_t max_pixels = dataset::default_max_pixels;  // an image file of more is none
};

struct Experiment {
    dataset::Dataset train_set, test_set;
    nn::AnyCell network, loss;
    nn::Optimizer optimizer;
    Metrics metrics;
};

struct Recipe {
    std::string name;
    Settings defaults;
    bool texts = false;  // what it learns from; else images
    // Throws IoError and AttrError for a folder that isn't one, or hasn't what the network needs.
    std::function<Experiment(const Settings &)> prepare;
};

const std::vector<Recipe> &recipes();
const Recipe &recipe(const std::string &name);  // throws AttrError naming all

}  // namespace halyard::examples
