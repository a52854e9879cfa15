// usage: resnet_eval --dataset_path=FOLDER --checkpoint_path=FILE [--batch_size=32]
// [--image_size=224] ... Evaluates ResNet-50 on a folder of images: eval.py of "Network migration
// debugging and tuning".
#include <cstdio>

#include "examples/resnet/config.h"
#include "examples/resnet/cross_entropy_smooth.h"
#include "examples/resnet/dataset.h"
#include "examples/resnet/resnet.h"
#include "primitives/context.h"
#include "primitives/random.h"
#include "train/checkpoint/checkpoint.h"
#include "train/model.h"

using namespace halyard;
using namespace halyard::examples;

namespace {

void eval(const resnet::Config &config) {
    set_seed(1);
    set_context({.mode = GRAPH_MODE, .device_target = config.device_target});

    // create dataset
    const dataset::Dataset dataset = resnet::create_dataset(config.dataset_path, config.batch_size,
                                                            1, 0, /*do_train=*/false,
                                                            {.image_size = config.image_size});

    // define net
    const ResNet net = resnet50(config.class_num);

    // load checkpoint
    const NamedTensors param_dict = load_checkpoint(config.checkpoint_path);
    const LoadReport report = load_param_into_net(net, param_dict);
    if (!report.param_not_load.empty() || !report.mismatched.empty()) {
        throw AttrError("eval",
                        config.checkpoint_path + " doesn't fit the network:\n" + report.text());
    }
    net.set_train(false);

    // define loss, model
    const CrossEntropySmooth loss(/*sparse=*/true, "mean", config.label_smooth_factor,
                                  config.class_num);
    const Model model(net, loss, {}, {"top_1_accuracy", "top_5_accuracy"});

    // eval model
    const std::map<std::string, double> res = model.eval(dataset);
    std::printf("result: {'top_1_accuracy': %.15g, 'top_5_accuracy': %.15g} ckpt= %s\n",
                res.at("top_1_accuracy"), res.at("top_5_accuracy"), config.checkpoint_path.c_str());
}

}  // namespace

int main(int argc, char **argv) {
    try {
        eval(resnet::Config::from(argc, argv));
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
