// The options of train.cpp and eval.cpp, which their command lines may change:
// --dataset_path=FOLDER,
// --batch_size=4, ...
#pragma once
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <variant>

#include "registry/base/error.h"

namespace halyard::examples::resnet {

struct Config {
    std::string dataset_path, checkpoint_path, device_target = "CPU";
    int64_t class_num = 10, batch_size = 32, image_size = 224;
    // The document's name for cosine_decay_lr's decay_epoch: the number of epochs in which the rate
    // falls from lr to lr_end.
    int64_t epoch_size = 90, warmup = 90;
    double lr = 0.01, lr_end = 0.0, momentum = 0.9, weight_decay = 1e-4, label_smooth_factor = 0.1;
    bool save_checkpoint = true;
    int64_t save_checkpoint_epochs = 5, keep_checkpoint_max = 10;
    std::string save_checkpoint_path = "./checkpoint";

    // Throws AttrError for an unknown option.
    static Config from(int argc, char **argv) {
        Config c;
        const std::map<std::string, std::variant<std::string *, int64_t *, double *>> options = {
            {"dataset_path", &c.dataset_path},
            {"checkpoint_path", &c.checkpoint_path},
            {"device_target", &c.device_target},
            {"class_num", &c.class_num},
            {"batch_size", &c.batch_size},
            {"image_size", &c.image_size},
            {"epoch_size", &c.epoch_size},
            {"warmup", &c.warmup},
            {"lr", &c.lr},
            {"save_checkpoint_path", &c.save_checkpoint_path}};
        for (int i = 1; i < argc; i++) {
            const std::string given = argv[i];
            const size_t equals = given.find('=');
            const auto option = given.starts_with("--") && equals != std::string::npos
                                    ? options.find(given.substr(2, equals - 2))
                                    : options.end();
            if (option == options.end()) {
                throw AttrError("command line", "no option is called " + given +
                                                    "; options are written --batch_size=32");
            }
            const std::string value = given.substr(equals + 1);
            if (auto *text = std::get_if<std::string *>(&option->second))
                **text = value;
            else if (auto *whole = std::get_if<int64_t *>(&option->second))
                **whole = std::atoll(value.c_str());
            else
                *std::get<double *>(option->second) = std::atof(value.c_str());
        }
        return c;
    }
};

}  // namespace halyard::examples::resnet
