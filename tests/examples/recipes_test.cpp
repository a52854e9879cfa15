// Trains every network of `halyard train` for seconds on small data: its loss falls.
#include "examples/recipes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "examples/images/image_folders.h"
#include "examples/language/generate.h"
#include "examples/motion/motion.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "tests/registry/expect_error.h"
#include "train/model.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

struct Losses : Callback {
    explicit Losses(std::vector<double> &all) : out(&all) {}
    void on_train_step_end(RunContext &c) override { out->push_back(c.loss()); }
    std::vector<double> *out;
};

class Recipes : public testing::Test {
protected:
    void SetUp() override {
        dir = fs::temp_directory_path() / ("halyard_recipes_" + std::to_string(getpid()));
        fs::create_directories(dir);
    }
    void TearDown() override { fs::remove_all(dir); }

    // Returns the mean loss of the first and of the last epoch.
    std::pair<double, double> losses(const char *name, const examples::Settings &s) const {
        set_seed(1);
        const examples::Experiment e = examples::recipe(name).prepare(s);
        std::vector<double> all;
        Model model(e.network, e.loss, e.optimizer, e.metrics);
        model.train(s.epochs, e.train_set, {Losses(all)});
        const size_t steps = size_t(e.train_set.get_dataset_size());
        const auto mean = [&](size_t from) {
            return std::accumulate(all.begin() + long(from), all.begin() + long(from + steps),
                                   0.0) /
                   double(steps);
        };
        const std::map<std::string, double> metrics = model.eval(e.test_set);
        std::printf("%s: %zu steps, first epoch %.4f, last epoch %.4f, test loss %.4f\n", name,
                    all.size(), mean(0), mean(all.size() - steps), metrics.at("loss"));
        return {mean(0), mean(all.size() - steps)};
    }
    fs::path dir;
};

TEST_F(Recipes, ClassifiersLearn) {
    examples::write_digits(HALYARD_SOURCE_DIR "/data/digits/28", dir, 32, 2);
    struct Case {
        const char *network;
        double rate;
        int64_t epochs;
    };
    for (const auto &[name, rate, epochs] :
         {Case{"resnet18", 0.01, 4}, {"resnet50", 0.01, 4}, {"mobilenetv2", 0.05, 6}}) {
        const auto [first, last] = losses(
            name,
            {.data = dir, .epochs = epochs, .batch_size = 10, .size = 32, .learning_rate = rate});
        EXPECT_LT(last, first - 0.3) << name;
    }
}

// Trains six epochs on the licence, a text that doesn't change. A guess among all bytes costs ln
// 256 = 5.55.
TEST_F(Recipes, LanguageModelsLearn) {
    std::ofstream(dir / "licence.txt") << std::ifstream(HALYARD_SOURCE_DIR "/LICENSE").rdbuf();
    for (const char *name : {"transformer", "lstm"}) {
        const auto [first, last] = losses(
            name, {.data = dir, .epochs = 6, .batch_size = 8, .size = 32, .learning_rate = 1e-2});
        EXPECT_LT(last, first - 0.5) << name;
        EXPECT_LT(last, 2.6) << name;
    }
}

TEST_F(Recipes, MotionLearns) {
    examples::write_motions(dir, 1000, 40);
    const auto [first, last] = losses(
        "motion", {.data = dir, .epochs = 8, .batch_size = 25, .size = 40, .learning_rate = 5e-3});
    EXPECT_LT(last, first - 0.2);
    EXPECT_LT(last, 0.2);
}

// A text that only repeats itself is learnt quickly, and continued.
TEST_F(Recipes, ContinuesAText) {
    // With seven letters, pieces of 16 begin with any of them.
    std::ofstream page(dir / "page.md");
    for (int i = 0; i < 300; i++)
        page << "abcdefg";
    page.close();
    for (const char *name : {"transformer", "lstm"}) {
        set_seed(1);
        const examples::Experiment e = examples::recipe(name).prepare(
            {.data = dir, .epochs = 12, .batch_size = 8, .size = 16, .learning_rate = 1e-2});
        Model(e.network, e.loss, e.optimizer).train(12, e.train_set);
        EXPECT_EQ(examples::continued(e.network, "defg", 20, 16, 0), "defgabcdefgabcdefgabcdef")
            << name;
        EXPECT_EQ(examples::continued(e.network, "defg", 20, 16).size(), 24u);
    }
    expect_error<AttrError>("[generate] the text is empty, expected a byte to go on from",
                            [] { (void)examples::continued(nn::AnyCell(), "", 1, 16); });
}

// A file that is no image is named in an error, or skipped.
TEST_F(Recipes, ReportsOrSkipsDamagedImages) {
    examples::write_digits(HALYARD_SOURCE_DIR "/data/digits/28", dir, 32, 2);
    const fs::path damaged = dir / "train" / "3" / "0001.png";
    fs::resize_file(damaged, 100);
    examples::Settings s = {
        .data = dir, .epochs = 1, .batch_size = 10, .size = 32, .learning_rate = 0.01};
    const auto rows = [&] {
        int64_t n = 0;
        for (const dataset::Row &row :
             examples::recipe("mobilenetv2").prepare(s).train_set.create_dict_iterator())
            n += row[0].size(0);
        return n;
    };
    try {
        (void)rows();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const IoError &e) {
        EXPECT_NE(std::string(e.what()).find(damaged.string()), std::string::npos) << e.what();
    }
    s.skip_damaged = true;
    s.batch_size = 19;
    EXPECT_EQ(rows(), 19);
}

TEST_F(Recipes, RejectsInvalidArguments) {
    expect_error<AttrError>(
        "[train] augment is for folders of image files, this network learns from texts", [] {
            (void)examples::recipe("lstm").prepare({.data = "docs", .size = 32, .augment = true});
        });
    expect_error<AttrError>(
        "[train] no network is called alexnet; there are lenet5, resnet18, resnet34, resnet50, "
        "resnet101, resnet152, mobilenetv2, transformer, lstm, motion",
        [] { (void)examples::recipe("alexnet"); });
    expect_error<AttrError>("[lenet5] image size is 28, expected LeNet5's 32", [] {
        (void)examples::recipe("lenet5").prepare(
            {.data = HALYARD_SOURCE_DIR "/data/digits", .size = 28});
    });
    expect_error<AttrError>("[motion] length is 4, expected at least 5 readings", [] {
        (void)examples::recipe("motion").prepare({.data = "motions", .size = 4});
    });
    const std::string empty = dir.string();
    examples::write_motions(empty + "/motions", 8, 9);
    expect_error<ShapeError>(
        "[motion] " + empty + "/motions/train/readings.npy is [8,3,9], expected [n,3,50]", [&] {
            (void)examples::recipe("motion").prepare(
                {.data = empty + "/motions", .batch_size = 2, .size = 50});
        });
    expect_error<IoError>(
        "[" + empty +
            "] has no folders train and test (or val), expected in each a folder of JPEG or PNG "
            "files for each class",
        [&] { (void)examples::recipe("resnet18").prepare({.data = empty, .size = 32}); });
    expect_error<IoError>("[" + empty + "] has no .md or .txt file", [&] {
        (void)examples::recipe("lstm").prepare({.data = empty, .size = 32});
    });
    examples::write_digits(HALYARD_SOURCE_DIR "/data/digits/28", dir, 8, 1);
    expect_error<AttrError>(
        "[train] batch size is 11, more than there are images in " + empty + "/train", [&] {
            (void)examples::recipe("resnet18")
                .prepare({.data = empty, .batch_size = 11, .size = 32});
        });
    for (int digit = 1; digit < 10; digit++)
        fs::remove_all(dir / "train" / std::to_string(digit));
    expect_error<AttrError>("[train] " + empty + "/train has one class, expected at least 2", [&] {
        (void)examples::recipe("resnet18").prepare({.data = empty, .size = 32});
    });
}

}  // namespace
}  // namespace halyard
