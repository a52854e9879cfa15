// halyard train: trains a network of examples/recipes.h on a folder of files.
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>

#include "examples/lenet5/lenet5.h"
#include "examples/recipes.h"
#include "nn/loss_scale.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/dispatch/device.h"
#include "tools/halyard/command.h"
#include "tools/halyard/option.h"
#include "tools/halyard/page.h"
#include "train/callbacks/run_recorder.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_checkpoint.h"
#include "train/checkpoint/training_state.h"
#include "train/model.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

struct TrainRequest {
    std::string network, out = ".", device = "cpu";
    std::optional<std::string> data;
    std::optional<int64_t> epochs, batch_size, size, max_pixels;
    std::optional<double> learning_rate;
    int workers = 0;
    std::optional<uint64_t> seed;
    int64_t checkpoint_steps = 0;  // 0: at the end of each epoch
    bool resume = false, evaluate = false, augment = false, skip_damaged = false;
};

constexpr double ascend_loss_scale = 1024;

// Collects the results that are printed at the end.
struct LastEpoch : Callback {
    void on_train_epoch_begin(RunContext &) override {
        sum = 0;
        steps = 0;
    }
    void on_train_step_end(RunContext &c) override {
        sum += c.loss();
        steps++;
    }
    void on_train_epoch_end(RunContext &c) override { results = c.eval_results; }
    double sum = 0;
    int64_t steps = 0;
    std::map<std::string, double> results;
};

examples::Settings settings_of(const TrainRequest &o, const examples::Recipe &recipe) {
    examples::Settings s = recipe.defaults;
    s.data = o.data.value_or(s.data);
    s.epochs = o.epochs.value_or(s.epochs);
    s.batch_size = o.batch_size.value_or(s.batch_size);
    s.size = o.size.value_or(s.size);
    s.learning_rate = o.learning_rate.value_or(s.learning_rate);
    s.num_parallel_workers = o.workers;
    s.augment = o.augment;
    s.skip_damaged = o.skip_damaged;
    s.max_pixels = o.max_pixels.value_or(s.max_pixels);
    return s;
}

uint64_t seed_of(const TrainRequest &o) {
    return o.seed.value_or(examples::LeNet5Options().seed);
}

// Returns the settings that the page shows with the curves.
std::vector<std::pair<std::string, std::string>> about_of(const TrainRequest &o,
                                                          const examples::Settings &s) {
    return {{"data", fs::path(s.data).lexically_normal().filename().string()},
            {"batch size", std::to_string(s.batch_size)},
            {"seed", std::to_string(seed_of(o))}};
}

// The notes of a checkpoint: settings that a resumed training must keep.
constexpr const char *batch_size_note = "train.batch-size", *size_note = "train.size",
                     *rate_note = "train.lr", *augment_note = "train.augment";

struct KeepSettings : Callback {
    explicit KeepSettings(const examples::Settings &s) : settings(s) {}
    void on_train_begin(RunContext &c) override {
        c.position.notes[batch_size_note] = double(settings.batch_size);
        c.position.notes[size_note] = double(settings.size);
        c.position.notes[rate_note] = settings.learning_rate;
        c.position.notes[augment_note] = settings.augment;
    }
    examples::Settings settings;
};

// Sets the option to the value of the checkpoint, which an older version may not have saved. Throws
// AttrError if the caller gave another one.
template<class T>
void take(std::optional<T> &option, const char *name, const std::optional<T> &saved) {
    if (!saved) return;
    if (option && *option != *saved) {
        std::ostringstream text;
        text << std::boolalpha << name << " is " << *option
             << ", but the training that is resumed was begun with " << *saved;
        throw AttrError("train", text.str());
    }
    option = saved;
}

// The settings in a checkpoint: notes, and the seed.
class SavedSettings {
public:
    explicit SavedSettings(const std::string &checkpoint)
        : path_(checkpoint), metadata_(load_metadata(checkpoint)) {}
    std::optional<uint64_t> seed() const { return saved_seed(path_, metadata_); }
    template<class T> std::optional<T> note(const char *name) const {
        const std::optional<double> saved = saved_note(path_, metadata_, name);
        return saved ? std::optional(static_cast<T>(*saved)) : std::nullopt;
    }

private:
    const std::string path_;
    const std::map<std::string, std::string> metadata_;
};

void take_settings(TrainRequest &o, const std::string &checkpoint) {
    const SavedSettings saved(checkpoint);
    take(o.seed, "--seed", saved.seed());
    take(o.batch_size, "--batch-size", saved.note<int64_t>(batch_size_note));
    take(o.size, "--image-size or --length", saved.note<int64_t>(size_note));
    take(o.learning_rate, "--lr", saved.note<double>(rate_note));
    std::optional<bool> augment = o.augment ? std::optional(true) : std::nullopt;
    take(augment, "--augment", saved.note<bool>(augment_note));
    o.augment = augment.value_or(false);
}

std::string last_checkpoint(const TrainRequest &o) {
    const std::optional<std::string> last = latest_checkpoint(o.out, o.network);
    if (!last) throw IoError(o.out, "has no checkpoint of " + o.network);
    return *last;
}

// Returns ", test accuracy 0.9861, test loss 0.045210".
std::string text_of(const std::map<std::string, double> &results) {
    std::string text;
    for (const auto &[name, value] : results) {
        char number[32];
        std::snprintf(number, sizeof number, " %.*f", name == "accuracy" ? 4 : 6, value);
        text += ", test " + name + number;
    }
    return text;
}

int learn(const TrainRequest &o, const examples::Settings &settings,
          const examples::Experiment &experiment, Model &model, const TrainOptions &from) {
    std::error_code failed;
    fs::create_directories(o.out, failed);
    if (failed) throw IoError(o.out, "can't be created: " + failed.message());
    const std::string run = (fs::path(o.out) / (o.network + "_run.json")).string();
    const std::string page = (fs::path(o.out) / (o.network + "_run.html")).string();
    const int64_t steps = o.checkpoint_steps
                              ? o.checkpoint_steps
                              : std::max<int64_t>(1, experiment.train_set.get_dataset_size());
    const ModelCheckpoint checkpoint(
        o.network, o.out,
        {.save_checkpoint_steps = steps, .keep_checkpoint_max = 2, .format = "safetensors"});
    const RunRecorder recorder(run, {.title = o.network, .about = about_of(o, settings)});
    const auto last = std::make_shared<LastEpoch>();
    model.fit(settings.epochs, experiment.train_set, experiment.test_set,
              {ProgressBar(), KeepSettings(settings), last, recorder, checkpoint}, from);
    if (!last->steps) {
        std::printf("the checkpoint has all %lld epochs\n", (long long)settings.epochs);
        return 0;
    }
    last->results.erase("eval_loss");  // the same as the metric "loss"
    write_page({run}, page, o.network);
    std::printf("last epoch's mean loss %.6f%s\nrun file: %s\npage: %s\n",
                last->sum / double(last->steps), text_of(last->results).c_str(), run.c_str(),
                page.c_str());
    return 0;
}

int train(TrainRequest o) {
    const examples::Recipe &recipe = examples::recipe(o.network);
    const std::string checkpoint = o.resume || o.evaluate ? last_checkpoint(o) : "";
    if (o.resume) take_settings(o, checkpoint);
    // An evaluation without --image-size or --length uses the size of the training.
    if (o.evaluate && !o.size) o.size = SavedSettings(checkpoint).note<int64_t>(size_note);
    const examples::Settings settings = settings_of(o, recipe);
    set_seed(seed_of(o));
    set_device(o.device);
    const examples::Experiment experiment = recipe.prepare(settings);
    std::optional<nn::LossScaleManager> scale;
    if (is_ascend(o.device)) {  // its cube unit multiplies f16; weights and loss stay f32
        experiment.network.to_float(DType::f16);
        experiment.loss.to_float(DType::f32);
        scale = nn::FixedLossScaleManager(ascend_loss_scale);
    }
    Model model(experiment.network, experiment.loss, experiment.optimizer, experiment.metrics,
                scale);
    if (checkpoint.empty()) return learn(o, settings, experiment, model, {});

    const TrainOptions from = model.resume(checkpoint);
    std::printf("from %s\n", checkpoint.c_str());
    if (o.resume) return learn(o, settings, experiment, model, from);
    std::printf("%s%s\n", o.network.c_str(), text_of(model.eval(experiment.test_set)).c_str());
    return 0;
}

std::vector<std::string> network_names() {
    std::vector<std::string> all;
    for (const examples::Recipe &r : examples::recipes())
        all.push_back(r.name);
    return all;
}

// Returns "lstm  --data docs --epochs 20 ...": a line for each network.
std::string defaults() {
    std::string text = "Defaults:\n";
    for (const examples::Recipe &r : examples::recipes()) {
        char line[160];
        std::snprintf(line, sizeof line,
                      "  %-12s --data %-12s --epochs %-3lld --batch-size %lld --lr %-5g %s %lld\n",
                      r.name.c_str(), r.defaults.data.c_str(), (long long)r.defaults.epochs,
                      (long long)r.defaults.batch_size, r.defaults.learning_rate,
                      r.input == examples::Input::images ? "--image-size" : "--length",
                      (long long)r.defaults.size);
        text += line;
    }
    return text;
}

}  // namespace

void add_train(CLI::App &app, Run &selected) {
    auto o = std::make_shared<TrainRequest>();
    CLI::App *sub = app.add_subcommand(
        "train", "Train an example network, continue a training, or evaluate it");
    sub->add_option("network", o->network, "Which")
        ->required()
        ->check(CLI::IsMember(network_names()));
    sub->add_option("--device,--backend", o->device,
                    "cpu, opencl, cuda, or simulated, in f16 with f32 weights and a scaled loss: " +
                        ascend_names())
        ->check(cpu_or_ascend() | CLI::IsMember({"opencl", "cuda"}));
    sub->add_option("--data", o->data,
                    "Folder of the training data: digits (MNIST's files), images in "
                    "train/ and test/ by class, texts, or readings");
    sub->add_option("--epochs", o->epochs, "Passes over the training data")
        ->check(CLI::Range(1, 100000));
    sub->add_option("--batch-size", o->batch_size, "Rows of a step")->check(CLI::Range(1, 65536));
    sub->add_option("--lr", o->learning_rate, "Learning rate, where it is highest")
        ->check(CLI::PositiveNumber);
    sub->add_option("--image-size,--length", o->size,
                    "Height and width of images, bytes of a piece of text, or readings of a row")
        ->check(CLI::Range(1, 4096));
    sub->add_flag(
        "--augment", o->augment,
        "Train on random parts of the images and their mirror images: for photographs, not "
        "for digits");
    sub->add_flag("--skip-damaged", o->skip_damaged,
                  "Skip damaged image files with a warning, instead of ending the training");
    sub->add_option("--max-pixels", o->max_pixels,
                    "An image file that has more is damaged; default " +
                        std::to_string(dataset::default_max_pixels))
        ->check(CLI::Range(1, 1 << 29));
    sub->add_option("--workers", o->workers, "Threads that prepare images; 0: all")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    sub->add_option("--seed", o->seed,
                    "Of initial weights and of the order of data; default " +
                        std::to_string(seed_of(*o)))
        ->check(whole_number(std::numeric_limits<uint64_t>::max()));
    sub->add_option("--out", o->out, "Folder for checkpoints, the run file and its page")
        ->capture_default_str();
    sub->add_option("--checkpoint-steps", o->checkpoint_steps,
                    "Steps between checkpoints; 0: one at the end of each epoch")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    CLI::Option *resume = sub->add_flag(
        "--resume", o->resume,
        "Continue from the last checkpoint in the folder of --out, with its seed and settings");
    sub->add_flag("--evaluate", o->evaluate, "Only evaluate that checkpoint")->excludes(resume);
    sub->footer(defaults());
    sub->callback([o, &selected] { selected = [o] { return train(*o); }; });
}

}  // namespace halyard::command
