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

    // Throws AttrError for an unknown option and for a value that is no number where one is needed.
    static Config from(int argc, char **argv) {
        Config c;
        for (int i = 1; i < argc; i++) {
            const std::string given = argv[i];
            const size_t equals = given.find('=');
            const bool is_option = given.starts_with("--") && equals != std::string::npos;
            const std::string name = is_option ? given.substr(2, equals - 2) : "";
            const std::map<std::string, Option> options = c.options();
            const auto option = options.find(name);
            if (option == options.end()) {
                throw AttrError("command line", "no option is called " + given +
                                                    "; options are written --batch_size=32");
            }
            set(name, option->second, given.substr(equals + 1));
        }
        return c;
    }

private:
    using Option = std::variant<std::string *, int64_t *, double *, bool *>;
    std::map<std::string, Option> options() {
        return {{"dataset_path", &dataset_path},
                {"checkpoint_path", &checkpoint_path},
                {"device_target", &device_target},
                {"class_num", &class_num},
                {"batch_size", &batch_size},
                {"image_size", &image_size},
                {"epoch_size", &epoch_size},
                {"warmup", &warmup},
                {"lr", &lr},
                {"lr_end", &lr_end},
                {"momentum", &momentum},
                {"weight_decay", &weight_decay},
                {"label_smooth_factor", &label_smooth_factor},
                {"save_checkpoint", &save_checkpoint},
                {"save_checkpoint_epochs", &save_checkpoint_epochs},
                {"keep_checkpoint_max", &keep_checkpoint_max},
                {"save_checkpoint_path", &save_checkpoint_path}};
    }

    static void set(const std::string &name, const Option &option, const std::string &value) {
        const auto expect = [&](bool holds, const char *what) {
            if (!holds) {
                throw AttrError("command line", name + " is '" + value + "', expected " + what);
            }
        };
        char *end = nullptr;
        if (auto *text = std::get_if<std::string *>(&option)) {
            **text = value;
        } else if (auto *flag = std::get_if<bool *>(&option)) {
            expect(value == "true" || value == "false", "true or false");
            **flag = value == "true";
        } else if (auto *whole = std::get_if<int64_t *>(&option)) {
            **whole = std::strtoll(value.c_str(), &end, 10);
            expect(!value.empty() && *end == 0, "a whole number");
        } else {
            *std::get<double *>(option) = std::strtod(value.c_str(), &end);
            expect(!value.empty() && *end == 0, "a number");
        }
    }
};

}  // namespace halyard::examples::resnet
