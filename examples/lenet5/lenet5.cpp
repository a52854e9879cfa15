#include "examples/lenet5/lenet5.h"

#include "nn/loss.h"
#include "primitives/random.h"
#include "train/data/sources.h"
#include "train/model.h"
#include "train/vision/vision.h"

namespace halyard::examples {

namespace ds = dataset;
namespace vision = dataset::vision;
namespace transforms = dataset::transforms;
using ds::Inter;

ds::Dataset create_dataset(const std::string &data_path, int64_t batch_size, int64_t repeat_size,
                           bool shuffle) {
    // define dataset
    ds::Dataset mnist_ds = ds::MnistDataset(data_path, {.shuffle = shuffle});
    const int64_t resize_height = 32, resize_width = 32;
    const double rescale = 1.0 / 255.0;
    const double shift = 0.0;
    const double rescale_nml = 1 / 0.3081;
    const double shift_nml = -1 * 0.1307 / 0.3081;

    // define map operations
    // bilinear
    const auto resize_op = vision::Resize({resize_height, resize_width}, Inter::LINEAR);
    const auto rescale_nml_op = vision::Rescale(rescale_nml, shift_nml);
    const auto rescale_op = vision::Rescale(rescale, shift);
    const auto hwc2chw_op = vision::HWC2CHW();
    const auto type_cast_op = transforms::TypeCast(DType::i32);

    // apply map operations on images
    mnist_ds = mnist_ds.map(type_cast_op, "label");
    mnist_ds = mnist_ds.map({resize_op, rescale_op, rescale_nml_op, hwc2chw_op}, "image");

    // apply DatasetOps
    const int64_t buffer_size = 10000;
    if (shuffle) mnist_ds = mnist_ds.shuffle(buffer_size);
    const bool drop_remainder = shuffle;  // an evaluation must use every image
    mnist_ds = mnist_ds.batch(batch_size, drop_remainder);
    return mnist_ds.repeat(repeat_size);
}

namespace {

// Collects the result of train_lenet5().
struct EpochMeans : Callback {
    explicit EpochMeans(std::vector<double> &means) : out(means) {}
    void on_train_step_end(RunContext &c) override { sum += c.loss(); }
    void on_train_epoch_end(RunContext &c) override {
        out.push_back(sum / double(c.step));
        sum = 0;
    }
    std::vector<double> &out;
    double sum = 0;
};

}  // namespace

LeNet5Result train_lenet5(const LeNet5Options &options) {
    set_seed(options.seed);
    const ds::Dataset ds_train = create_dataset(options.train_path, options.batch_size);
    const LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits net_loss(true, "mean");
    const nn::Momentum net_opt(network.trainable_params(), options.learning_rate, options.momentum);
    Model model(network, net_loss, net_opt, {"accuracy", "loss"});

    LeNet5Result result;
    Callbacks callbacks = options.callbacks;
    callbacks.emplace_back(EpochMeans(result.losses));
    model.train(options.epochs, ds_train, callbacks);

    const std::map<std::string, double> metrics = model.eval(
        create_dataset(options.test_path, options.batch_size, 1, false), callbacks);
    result.accuracy = metrics.at("accuracy");
    result.test_loss = metrics.at("loss");
    return result;
}

}  // namespace halyard::examples
