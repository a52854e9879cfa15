#include "examples/recipes.h"

#include <algorithm>
#include <filesystem>

#include "examples/language/lstm.h"
#include "examples/language/text.h"
#include "examples/language/transformer.h"
#include "examples/lenet5/lenet5.h"
#include "examples/mobilenet/mobilenet_v2.h"
#include "examples/motion/motion.h"
#include "examples/resnet/cross_entropy_smooth.h"
#include "examples/resnet/dataset.h"
#include "examples/resnet/group_params.h"
#include "examples/resnet/resnet.h"
#include "examples/resnet/weights.h"
#include "examples/warmup_cosine.h"
#include "nn/loss.h"
#include "registry/base/error.h"
#include "train/formats/image_folder.h"

namespace halyard::examples {
namespace fs = std::filesystem;
namespace {

// Returns the first folder that has both.
struct Parts {
    fs::path train, test;
};
Parts parts_of(const std::string &data, const std::vector<fs::path> &places, const char *expected) {
    for (const fs::path &place : places) {
        for (const char *test : {"test", "val"}) {
            std::error_code unknown;
            if (fs::is_directory(place / "train", unknown) &&
                fs::is_directory(place / test, unknown))
                return {place / "train", place / test};
        }
    }
    throw IoError(data, std::string("has no folders train and test (or val), expected in each ") +
                            expected);
}

// Returns a schedule over all steps, with a twentieth of them for warm-up.
nn::LearningRate schedule(const Settings &s, const dataset::Dataset &train_set) {
    const int64_t steps = s.epochs * train_set.get_dataset_size();
    const int64_t warmup = std::max<int64_t>(1, steps / 20);
    return warmup_cosine(s.learning_rate, warmup, std::max(steps, warmup + 1));
}

void refuse_image_options(const Settings &s, const char *data) {
    const std::string given = s.augment                                     ? "augment"
                              : s.skip_damaged                              ? "skip_damaged"
                              : s.max_pixels != dataset::default_max_pixels ? "max_pixels"
                                                                            : "";
    if (!given.empty()) {
        throw AttrError("train",
                        given + " is for folders of image files, this network learns from " + data);
    }
}

void require_lenet5_size(const Settings &s) {
    if (s.size == 32) return;
    throw AttrError("lenet5", "image size is " + std::to_string(s.size) + ", expected LeNet5's 32");
}

nn::AnyCell lenet5_network(const Settings &, int64_t classes) {
    return LeNet5(classes);
}

Experiment lenet5(const Settings &s) {
    refuse_image_options(s, "MNIST's files");
    require_lenet5_size(s);
    const Parts data = parts_of(s.data, {s.data, fs::path(s.data) / "28"},
                                "files in MNIST's format");
    const LeNet5 net(10);
    return {create_dataset(data.train, s.batch_size),
            create_dataset(data.test, s.batch_size, 1, false),
            net,
            nn::SoftmaxCrossEntropyWithLogits(/*sparse=*/true, "mean"),
            nn::Momentum(net.trainable_params(), s.learning_rate, 0.9),
            {"accuracy", "loss"}};
}

void require_motion_length(const Settings &s) {
    if (s.size >= MotionNet::kernel_size) return;
    throw AttrError("motion", "length is " + std::to_string(s.size) + ", expected at least " +
                                  std::to_string(MotionNet::kernel_size) + " readings");
}

nn::AnyCell motion_network(const Settings &s, int64_t classes) {
    require_motion_length(s);
    return MotionNet(s.size, classes);
}

Experiment motion(const Settings &s) {
    refuse_image_options(s, "readings");
    const nn::AnyCell net = motion_network(s, 2);
    const Parts data = parts_of(s.data, {s.data}, "readings.npy and labels.npy");
    return {create_motion_dataset(data.train, s.size, s.batch_size),
            create_motion_dataset(data.test, s.size, s.batch_size, false),
            net,
            nn::SoftmaxCrossEntropyWithLogits(/*sparse=*/true, "mean"),
            nn::Adam(net.trainable_params(), s.learning_rate),
            {"accuracy", "loss"}};
}

// `make` returns the network for a number of classes.
Experiment classifier(const Settings &s, const std::function<nn::AnyCell(int64_t)> &make) {
    const Parts data = parts_of(s.data, {s.data}, "a folder of JPEG or PNG files for each class");
    resnet::ImageOptions options = {.image_size = s.size,
                                    .num_parallel_workers = s.num_parallel_workers};
    if (s.skip_damaged) options.on_error = dataset::OnError::SKIP;
    options.max_pixels = s.max_pixels;
    options.class_indexing = dataset::ImageFolderDataset(data.train, {.on_error = options.on_error})
                                 .get_class_indexing();
    const int64_t classes = int64_t(options.class_indexing.size());
    if (classes < 2)
        throw AttrError("train", data.train.string() + " has one class, expected at least 2");

    const dataset::Dataset test_set = resnet::create_dataset(data.test, s.batch_size, 1, 0, false,
                                                             options);
    options.augment = s.augment;
    const dataset::Dataset train_set = resnet::create_dataset(data.train, s.batch_size, 1, 0, true,
                                                              options);
    if (train_set.get_dataset_size() < 1) {
        throw AttrError("train", "batch size is " + std::to_string(s.batch_size) +
                                     ", more than there are images in " + data.train.string());
    }
    const nn::AnyCell net = make(classes);
    return {train_set,
            test_set,
            net,
            CrossEntropySmooth(/*is_sparse=*/true, "mean", 0.1, classes),
            nn::Momentum(group_params(net.trainable_params(), 1e-4), schedule(s, train_set), 0.9),
            {"accuracy", "loss"}};
}

template<ResNet (*make)(int64_t)> nn::AnyCell residual_network(const Settings &, int64_t classes) {
    const ResNet net = make(classes);
    initialize_weights(net, nn::HeNormal(0, "fan_out", "relu"), nn::TruncatedNormal(0.01));
    return net;
}

nn::AnyCell mobilenetv2_network(const Settings &, int64_t classes) {
    return MobileNetV2(classes);
}

using MakeNetwork = nn::AnyCell (*)(const Settings &, int64_t);
template<MakeNetwork make> Experiment image_classifier(const Settings &s) {
    return classifier(s, [&](int64_t classes) { return make(s, classes); });
}
template<MakeNetwork make> Recipe of_images(const std::string &name) {
    static const Settings images = {
        .data = ".", .epochs = 90, .batch_size = 32, .size = 224, .learning_rate = 0.05};
    return {name, images, Input::images, image_classifier<make>, make};
}

Experiment language_model(const Settings &s, const nn::AnyCell &net) {
    refuse_image_options(s, "texts");
    const std::string text = read_texts(s.data);
    const size_t cut = text.size() - text.size() / 10;
    const dataset::Dataset train_set = create_text_dataset(text.substr(0, cut), s.size,
                                                           s.batch_size);
    return {train_set,
            create_text_dataset(text.substr(cut), s.size, s.batch_size, false),
            net,
            nn::SoftmaxCrossEntropyWithLogits(/*sparse=*/true, "mean"),
            nn::Adam(net.trainable_params(), schedule(s, train_set)),
            {"loss"}};
}

nn::AnyCell transformer_network(const Settings &s, int64_t) {
    return TransformerModel(vocabulary, {.length = s.size});
}
nn::AnyCell lstm_network(const Settings &, int64_t) {
    return LstmModel(vocabulary);
}
template<MakeNetwork make> Recipe of_texts(const std::string &name) {
    static const Settings texts = {
        .data = "docs", .epochs = 20, .batch_size = 16, .size = 64, .learning_rate = 3e-3};
    return {name, texts, Input::texts,
            [](const Settings &s) { return language_model(s, make(s, 0)); }, make};
}

}  // namespace

const std::vector<Recipe> &recipes() {
    static const std::vector<Recipe> all = {
        {"lenet5",
         {.data = "data/digits", .epochs = 60, .batch_size = 32, .size = 32, .learning_rate = 0.01},
         Input::images,
         lenet5,
         lenet5_network,
         1},
        of_images<residual_network<resnet18>>("resnet18"),
        of_images<residual_network<resnet34>>("resnet34"),
        of_images<residual_network<resnet50>>("resnet50"),
        of_images<residual_network<resnet101>>("resnet101"),
        of_images<residual_network<resnet152>>("resnet152"),
        of_images<mobilenetv2_network>("mobilenetv2"),
        of_texts<transformer_network>("transformer"),
        of_texts<lstm_network>("lstm"),
        {"motion",
         {.data = "motions", .epochs = 30, .batch_size = 32, .size = 50, .learning_rate = 3e-3},
         Input::readings,
         motion,
         motion_network},
    };
    return all;
}

Shape input_shape(const Recipe &recipe, const Settings &s) {
    if (recipe.input == Input::texts) return {s.batch_size, s.size};
    if (recipe.input == Input::readings) {
        require_motion_length(s);
        return {s.batch_size, recipe.channels, s.size};
    }
    if (recipe.name == "lenet5") require_lenet5_size(s);
    return {s.batch_size, recipe.channels, s.size, s.size};
}

bool has_recipe(const std::string &name) {
    return std::ranges::find(recipes(), name, &Recipe::name) != recipes().end();
}

const Recipe &recipe(const std::string &name) {
    std::string known;
    for (const Recipe &r : recipes()) {
        if (r.name == name) return r;
        known += (known.empty() ? "" : ", ") + r.name;
    }
    throw AttrError("train", "no network is called " + name + "; there are " + known);
}

}  // namespace halyard::examples
