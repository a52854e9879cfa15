// usage: lenet5 [epochs] [train folder] [test folder] [checkpoint]
// Trains LeNet5. `halyard report lenet5_run.json` shows the training.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "examples/lenet5/lenet5.h"
#include "registry/base/error.h"
#include "train/callbacks/run_recorder.h"
#include "train/checkpoint/checkpoint.h"

namespace {

struct SaveAtTheEnd : halyard::Callback {
    explicit SaveAtTheEnd(std::string file) : path(std::move(file)) {}
    void on_train_end(halyard::RunContext &c) override {
        halyard::save_checkpoint(c.network, path);
    }
    std::string path;
};

}  // namespace

int main(int argc, char **argv) {
    using namespace halyard;
    try {
        examples::LeNet5Options options;
        if (argc > 1) options.epochs = std::atoll(argv[1]);
        if (argc > 2) options.train_path = argv[2];
        if (argc > 3) options.test_path = argv[3];
        options.callbacks = {ProgressBar(), RunRecorder("lenet5_run.json", {.title = "LeNet5"})};
        if (argc > 4) options.callbacks.emplace_back(SaveAtTheEnd(argv[4]));
        const examples::LeNet5Result r = examples::train_lenet5(options);
        std::printf("last epoch's mean loss %.6f, test accuracy %.4f, test loss %.6f\n",
                    r.losses.back(), r.accuracy, r.test_loss);
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
