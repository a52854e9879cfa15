// Tests the examples' data: image folders made from the files of the kit, and texts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "examples/images/image_folders.h"
#include "examples/language/text.h"
#include "examples/resnet/dataset.h"
#include "examples/resnet/rank.h"
#include "registry/base/error.h"
#include "tests/registry/expect_error.h"
#include "train/formats/image_folder.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

class ExampleData : public testing::Test {
protected:
    void SetUp() override {
        dir = fs::temp_directory_path() / ("halyard_example_data_" + std::to_string(getpid()));
        fs::create_directories(dir);
    }
    void TearDown() override { fs::remove_all(dir); }
    fs::path dir;
};

TEST_F(ExampleData, MakesImagesOfDigits) {
    examples::write_digits(HALYARD_SOURCE_DIR "/data/digits/28", dir, 32, 3);
    const dataset::ImageFolderDataset test((dir / "test").string(),
                                           {.decode = true, .shuffle = false});
    EXPECT_EQ(test.get_dataset_size(), 30);
    for (const dataset::Row &row : test.create_dict_iterator()) {
        const Tensor image = row["image"];
        ASSERT_EQ(image.shape(), (Shape{32, 32, 3}));
        // The image is grey.
        EXPECT_EQ(image.slice(2, 0, 1).to_vector<int>(), image.slice(2, 2, 3).to_vector<int>());
    }
}

// Without a communicator each process would train a network of its own and write to the same files.
TEST(ResNetTraining, RejectsMoreThanOneDevice) {
    const auto with = [](const char *name, const char *value) {
        setenv(name, value, 1);
        const std::string reported = message([] { examples::resnet::refuse_other_ranks(); });
        unsetenv(name);
        return reported;
    };
    const std::string why =
        ": there is no communicator, each process would train a network of its own";
    EXPECT_EQ(with("RANK_SIZE", "1"), "no error");
    EXPECT_EQ(with("RANK_ID", "0"), "no error");
    EXPECT_EQ(with("RANK_SIZE", "2"), "[RANK_SIZE] is 2, expected 1" + why);
    EXPECT_EQ(with("RANK_ID", "1"), "[RANK_ID] is 1, expected 0" + why);
    EXPECT_EQ(with("RANK_SIZE", "two"), "[RANK_SIZE] is two, expected 1" + why);
}

TEST_F(ExampleData, ReadsPhotographsInBatches) {
    examples::write_photographs(HALYARD_SOURCE_DIR "/data/photographs", dir, 72, 6);
    const dataset::Dataset train = examples::resnet::create_dataset(dir / "train", 4, 1, 0, true,
                                                                    {.image_size = 63});
    EXPECT_EQ(train.get_dataset_size(), 3);
    for (const dataset::Row &row : train.create_dict_iterator()) {
        EXPECT_EQ(row["image"].shape(), (Shape{4, 3, 63, 63}));
        EXPECT_EQ(row["label"].dtype(), DType::i32);
    }
    for (const dataset::Row &row :
         examples::resnet::create_dataset(dir / "train", 4, 1, 0, true,
                                          {.image_size = 63, .augment = true})
             .create_dict_iterator())
        EXPECT_EQ(row["image"].shape(), (Shape{4, 3, 63, 63}));
    // Two devices get half of the images each; in evaluation the last batch is kept.
    EXPECT_EQ(examples::resnet::create_dataset(dir / "train", 4, 2, 1, false).get_dataset_size(),
              2);
    EXPECT_EQ(examples::resnet::create_dataset(dir / "test", 4, 1, 0, false).get_dataset_size(), 1);
}

TEST_F(ExampleData, SplitsTexts) {
    std::ofstream(dir / "b.txt") << "fgh\xc3\xa4";
    std::ofstream(dir / "a.md") << "abcde";
    std::ofstream(dir / "c.cpp") << "not a text";
    const std::string text = examples::read_texts(dir);
    EXPECT_EQ(text, "abcdefgh\xc3\xa4");
    std::vector<int> inputs, targets;
    for (const dataset::Row &row :
         examples::create_text_dataset(text, 4, 2, false).create_dict_iterator()) {
        EXPECT_EQ(row["input"].shape(), (Shape{2, 4}));
        for (const int v : row["input"].to_vector<int>())
            inputs.push_back(v);
        for (const int v : row["target"].to_vector<int>())
            targets.push_back(v);
    }
    EXPECT_EQ(inputs, (std::vector<int>{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}));
    EXPECT_EQ(targets, (std::vector<int>{'b', 'c', 'd', 'e', 'f', 'g', 'h', 0xc3}));
    expect_error<AttrError>(
        "[text] the text has 10 bytes, expected at least 13 for a batch of 3 x 4",
        [&] { (void)examples::create_text_dataset(text, 4, 3); });
    fs::remove(dir / "a.md");
    fs::remove(dir / "b.txt");
    EXPECT_THROW((void)examples::read_texts(dir), IoError);
}

}  // namespace
}  // namespace halyard
