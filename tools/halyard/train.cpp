// halyard train: an example network on files.
#include <cstdio>
#include <filesystem>

#include "examples/lenet5/lenet5.h"
#include "registry/error.h"
#include "tools/halyard/command.h"
#include "tools/halyard/page.h"
#include "train/run_recorder.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

struct Options {
    std::string network, data = "data/digits", out = ".";
    int64_t epochs = 60;
    uint64_t seed = examples::LeNet5Options().seed;
};

// The files lie in DATA/train and DATA/test, or, where there are several sizes of images, in DATA/28.
fs::path images_of(const fs::path &data) {
    for (const fs::path &dir : {data, data / "28"})
        if (fs::is_directory(dir / "train") && fs::is_directory(dir / "test")) return dir;
    throw IoError(data.string(), "has no folders train and test");
}

int train(const Options &o) {
    const fs::path images = images_of(o.data), run = fs::path(o.out) / (o.network + "_run.json"), page = fs::path(o.out) / (o.network + "_run.html");
    std::error_code failed;
    fs::create_directories(o.out, failed);
    if (failed) throw IoError(o.out, "can't be created: " + failed.message());
    examples::LeNet5Options options;
    options.train_path = (images / "train").string(), options.test_path = (images / "test").string();
    options.epochs = o.epochs, options.seed = o.seed;
    options.callbacks = {ProgressBar(), RunRecorder(run.string(), {.title = "LeNet5", .about = {{"seed", std::to_string(o.seed)}}})};
    const examples::LeNet5Result r = examples::train_lenet5(options);
    std::printf("last epoch's mean loss %.6f, test accuracy %.4f, test loss %.6f\n", r.losses.back(), r.accuracy, r.test_loss);
    write_page({run.string()}, page.string(), "LeNet5");
    std::printf("run file: %s\npage: %s\n", run.c_str(), page.c_str());
    return 0;
}

}  // namespace

void add_train(CLI::App &app, Run &chosen) {
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand("train", "Train an example network");
    sub->add_option("network", o->network, "lenet5")->required()->check(CLI::IsMember({"lenet5"}));
    sub->add_option("--data", o->data, "Folder with train/ and test/ in MNIST's format")->capture_default_str();
    sub->add_option("--epochs", o->epochs, "Passes over the training files")->check(CLI::Range(1, 100000))->capture_default_str();
    sub->add_option("--seed", o->seed, "Of initial weights and of the order of images")->capture_default_str();
    sub->add_option("--out", o->out, "Where the run file and its page go")->capture_default_str();
    sub->callback([o, &chosen] { chosen = [o] { return train(*o); }; });
}

}  // namespace halyard::command
