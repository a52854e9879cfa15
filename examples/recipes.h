// The networks of `halyard train`, each with its data, loss, optimiser and metrics.
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
    std::string data;  // the folder of the training data
    int64_t epochs = 1, batch_size = 32;
    // Height and width of images, the length of a text in bytes, or the readings of a movement.
    int64_t size = 0;
    double learning_rate = 0.01;
    int num_parallel_workers = 0;  // the number of threads that prepare images; 0 means all
    // Trains on random crops and mirror images.
    bool augment = false;
    // Skips damaged image files with a warning; otherwise they end the training.
    bool skip_damaged = false;
    int64_t max_pixels = dataset::default_max_pixels;  // larger images count as damaged
};

struct Experiment {
    dataset::Dataset train_set, test_set;
    nn::AnyCell network, loss;
    nn::Optimizer optimizer;
    Metrics metrics;
};

enum class Input { images, texts, readings };

struct Recipe {
    std::string name;
    Settings defaults;
    Input input = Input::images;
    // Throws IoError or AttrError if the folder does not exist or lacks what the network needs.
    std::function<Experiment(const Settings &)> prepare;
    // Returns the network alone, with new weights. Texts have no classes: their network ignores
    // `classes`.
    std::function<nn::AnyCell(const Settings &, int64_t classes)> network;
    int64_t channels = 3;  // of images, or the axes of readings
};

// Returns the shape of the network's input, for which its defaults or these settings stand:
// [batch_size,channels,size,size], [batch_size,size] of texts, [batch_size,channels,size] of
// readings. Throws AttrError for a size that
// the network doesn't take.
Shape input_shape(const Recipe &recipe, const Settings &settings);

const std::vector<Recipe> &recipes();
bool has_recipe(const std::string &name);
// Throws AttrError with all names for an unknown one.
const Recipe &recipe(const std::string &name);

}  // namespace halyard::examples
