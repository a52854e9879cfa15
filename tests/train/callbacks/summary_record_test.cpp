// Tests event files, read as TensorBoard reads them: framing, checksums, messages.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "callbacks/summary.pb.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "registry/base/error.h"
#include "tests/registry/expect_error.h"
#include "train/callbacks/summary_collector.h"
#include "train/data/sources.h"
#include "train/formats/crc32c.h"
#include "train/model.h"
#include "train/vision/image.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

std::string bytes_of(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream s;
    s << file.rdbuf();
    return s.str();
}

std::vector<summary::Event> events_of(const fs::path &path) {
    const std::string all = bytes_of(path);
    std::vector<summary::Event> events;
    for (size_t at = 0; at < all.size();) {
        uint64_t length = 0;
        uint32_t sum = 0;
        std::memcpy(&length, all.data() + at, 8);
        std::memcpy(&sum, all.data() + at + 8, 4);
        EXPECT_EQ(sum, masked_crc32c(all.substr(at, 8)));
        const std::string message = all.substr(at + 12, length);
        std::memcpy(&sum, all.data() + at + 12 + length, 4);
        EXPECT_EQ(sum, masked_crc32c(message));
        EXPECT_TRUE(events.emplace_back().ParseFromString(message));
        at += 16 + length;
    }
    return events;
}

class Summary : public testing::Test {
protected:
    void TearDown() override { fs::remove_all(dir); }
    fs::path only_file() const {
        std::vector<fs::path> files;
        for (auto &entry : fs::directory_iterator(dir))
            files.push_back(entry.path());
        EXPECT_EQ(files.size(), 1u);
        return files.at(0);
    }
    // Trains four steps of a network of one layer on images of 1 x 2 x 2, and evaluates them.
    void train(const SummaryCollectorOptions &options) {
        const Tensor x = Tensor::ones({8, 1, 2, 2});
        const Tensor y = Tensor::zeros({8}, DType::i32);
        x.set({0, 0, 1, 1}, 3);
        const dataset::Dataset data = dataset::TensorDataset({{"x", x}, {"y", y}}).batch(2);
        struct Net : nn::Cell {
            nn::Dense fc = child("fc", nn::Dense(4, 3));
            Tensor construct(const Tensor &in) const override {
                return fc(in.reshape({in.size(0), 4}));
            }
        };
        const Net net;
        Model model(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"),
                    nn::Momentum(net.trainable_params(), 0.1, 0.9), {"accuracy"});
        model.fit(1, data, data, {SummaryCollector(dir.string(), options)});
    }
    std::map<std::string, std::vector<int64_t>> steps_by_tag() const {
        std::map<std::string, std::vector<int64_t>> tags;
        for (const summary::Event &e : events_of(only_file())) {
            for (const auto &value : e.summary().value())
                tags[value.tag()].push_back(e.step());
        }
        return tags;
    }
    fs::path dir = fs::temp_directory_path() / ("halyard_summary_" + std::to_string(getpid()));
};

TEST_F(Summary, RecordsValues) {
    SummaryRecord record(dir.string());
    EXPECT_NE(fs::path(record.path()).filename().string().find("events.out.tfevents."),
              std::string::npos);
    EXPECT_TRUE(record.path().ends_with("_MS"));
    record.add_value("scalar", "loss", Tensor::scalar(0.25));
    record.add_value("histogram", "weights",
                     Tensor::from<float>({-1, 0.5f, 0.5f, 2, NAN, INFINITY}));
    record.add_value("image", "digits",
                     Tensor::from<float>({0, 1, 2, 3, 5, 5, 5, 5}).reshape({2, 1, 2, 2}));
    record.add_text("words", "**bold**");
    record.record(7);
    record.record(8);  // Nothing was added.
    record.close();
    const std::vector<summary::Event> events = events_of(record.path());
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0].file_version(), "brain.Event:2");
    EXPECT_GT(events[1].wall_time(), 1.7e9);
    EXPECT_EQ(events[1].step(), 7);
    const summary::Summary &s = events[1].summary();
    ASSERT_EQ(s.value_size(), 7);
    EXPECT_EQ(s.value(0).simple_value(), 0.25f);
    const summary::HistogramProto &h = s.value(1).histo();
    EXPECT_EQ(h.min(), -1);
    EXPECT_EQ(h.max(), 2);
    EXPECT_EQ(h.num(), 4);
    EXPECT_EQ(h.sum(), 2);
    EXPECT_EQ(h.sum_squares(), 5.5);
    ASSERT_EQ(h.bucket_limit_size(), h.bucket_size());
    double counted = 0;
    double before = -INFINITY;
    std::vector<double> full;  // The upper ends of buckets that aren't empty.
    for (int i = 0; i < h.bucket_size(); i++) {
        EXPECT_GT(h.bucket_limit(i), before);
        before = h.bucket_limit(i);
        counted += h.bucket(i);
        if (h.bucket(i)) full.push_back(before);
    }
    EXPECT_EQ(counted, 4);
    ASSERT_EQ(full.size(), 3u);
    EXPECT_NEAR(full[0], -0.95, 0.06);
    EXPECT_NEAR(full[1], 0.53, 0.03);
    EXPECT_NEAR(full[2], 2.1, 0.1);
    EXPECT_EQ(s.value(2).tag(), "weights/nan");
    EXPECT_EQ(s.value(2).simple_value(), 1);
    EXPECT_EQ(s.value(3).tag(), "weights/inf");
    EXPECT_EQ(s.value(3).simple_value(), 1);
    EXPECT_EQ(s.value(4).tag(), "digits/0");
    EXPECT_EQ(s.value(4).image().colorspace(), 1);
    const std::string png = s.value(4).image().encoded_image_string();
    const Tensor image = dataset::decode_image(
        Tensor::borrow((void *)png.data(), {int64_t(png.size())}, {1}, DType::u8), "png");
    // Values are scaled from the smallest to the largest.
    EXPECT_EQ(image.slice(2, 0, 1).to_vector<int>(), (std::vector<int>{0, 85, 170, 255}));
    EXPECT_EQ(s.value(6).metadata().plugin_data().plugin_name(), "text");
    EXPECT_EQ(s.value(6).tensor().string_val(0), "**bold**");
    EXPECT_EQ(events[2].summary().value_size(), 0);
}

TEST_F(Summary, RejectsInvalidValues) {
    SummaryRecord record(dir.string(),
                         {.file_prefix = "a", .file_suffix = "_b", .max_file_size = 300});
    expect_error<AttrError>(
        "[summary] plugin of x is 'tensor', expected scalar, histogram or image",
        [&] { record.add_value("tensor", "x", Tensor::ones({2})); });
    expect_error<AttrError>("[summary] a value has an empty name",
                            [&] { record.add_value("scalar", "", Tensor::ones({1})); });
    expect_error<ShapeError>("[summary] image x is [2,2,4,4], expected [N,C,H,W] with C 1, 3 or 4",
                             [&] {
                                 record.add_value("image", "x", Tensor::ones({2, 2, 4, 4}));
                             });
    EXPECT_THROW(record.add_value("scalar", "x", Tensor::ones({2})), ShapeError);
    for (int64_t step = 0; step < 20; step++) {
        record.add_value("scalar", "x", Tensor::scalar(1));
        record.record(step);
    }
    EXPECT_LE(fs::file_size(record.path()), 300u);
    EXPECT_GT(events_of(record.path()).size(), 5u);
    record.close();
    EXPECT_THROW(record.record(21), IoError);
    EXPECT_THROW(SummaryRecord("/proc/none"), IoError);
    expect_error<AttrError>("[SummaryCollector] collect_freq is 0, expected at least 1",
                            [&] { SummaryCollector(dir.string(), {.collect_freq = 0}); });
    EXPECT_THROW(
        SummaryCollector(dir.string(), {.collect_specified_data = {.histogram_regular = "("}}),
        AttrError);
}

TEST_F(Summary, CollectsATraining) {
    train({.collect_freq = 2, .custom_lineage_data = {{"seed", "10"}}});
    auto tags = steps_by_tag();
    for (const char *tag :
         {"loss/auto", "learning_rate/auto", "step_seconds/auto", "data_seconds/auto",
          "queue_depth/auto", "images_per_second/auto", "fc.weight/auto", "fc.bias/auto",
          "fc.weight/gradient", "fc.bias/gradient", "input_data/auto/0"})
        EXPECT_EQ(tags[tag], (std::vector<int64_t>{1, 2, 4})) << tag;
    EXPECT_EQ(tags["accuracy/eval"], (std::vector<int64_t>{4}));
    EXPECT_EQ(tags["train_lineage/auto"].size(), 1u);
    EXPECT_EQ(tags["custom_lineage_data/auto"].size(), 1u);
}

TEST_F(Summary, CollectsSpecifiedData) {
    train({.collect_freq = 1,
           .collect_specified_data = {.histogram_regular = "bias$"},
           .keep_default_action = false});
    const auto tags = steps_by_tag();
    ASSERT_EQ(tags.size(), 1u);
    EXPECT_EQ(tags.begin()->first, "fc.bias/auto");
    EXPECT_EQ(tags.begin()->second.size(), 4u);
}

// If HALYARD_TENSORBOARD_PYTHON is a Python that has tensorboard, its own reader finds the same.
TEST_F(Summary, TensorBoardReadsIt) {
    const char *python = std::getenv("HALYARD_TENSORBOARD_PYTHON");
    if (!python) GTEST_SKIP() << "HALYARD_TENSORBOARD_PYTHON isn't set";
    train({.collect_freq = 1});
    const std::string script =
        "import sys; from tensorboard.backend.event_processing.event_accumulator import "
        "EventAccumulator as E; e = E(sys.argv[1]); e.Reload(); t = e.Tags(); "
        "assert [s.step for s in e.Scalars('loss/auto')] == [1, 2, 3, 4], t; assert "
        "e.Histograms('fc.weight/auto')[0].histogram_value.num == 12; "
        "i = e.Images('input_data/auto/0')[0]; assert (i.width, i.height) == (2, 2) and "
        "i.encoded_image_string[1:4] == b'PNG', i; "
        "assert b'parameters | 15' in "
        "e.Tensors('train_lineage/auto')[0].tensor_proto.string_val[0]";
    EXPECT_EQ(std::system(
                  (std::string(python) + " -c \"" + script + "\" '" + dir.string() + "'").c_str()),
              0);
}

}  // namespace
}  // namespace halyard
