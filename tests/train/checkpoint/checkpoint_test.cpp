// Tests checkpoint files: other programs' files, our own, and damaged ones.
#include "train/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "nn/dense.h"
#include "nn/sequential.h"
#include "registry/tensor/npy.h"
#include "tests/train/files.h"
#include "tests/train/memory_file.h"
#include "train/checkpoint/mindspore_ckpt.h"
#include "train/checkpoint/safetensors.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

void put(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

void expect_same(const NamedTensors &all, const std::map<std::string, Tensor> &expected) {
    ASSERT_EQ(all.tensors.size(), expected.size());
    for (auto &[name, t] : all.tensors) {
        ASSERT_TRUE(expected.count(name)) << name;
        const Tensor &e = expected.at(name);
        EXPECT_EQ(t.shape(), e.shape()) << name;
        ASSERT_EQ(t.dtype(), e.dtype()) << name;
        EXPECT_EQ(std::memcmp(t.raw(), e.raw(), e.bytes()), 0) << name;
    }
}

NamedTensors some_tensors() {
    NamedTensors all;
    for (DType t : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                    DType::i8, DType::u8, DType::boolean})
        all.tensors.emplace_back(std::string("of ") + name_of(t), Tensor::ones({2, 3}, t));
    all.tensors.emplace_back("scalar", Tensor::scalar(7, DType::i64));
    all.tensors.emplace_back("none", Tensor::empty({0, 4}));
    all.tensors.emplace_back(
        "turned", Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}).swap_axes(0, 1));
    all.metadata = {{"epoch", "3"}, {"of", "a \"test\""}};
    return all;
}

struct Checkpoint : testing::TestWithParam<const char *> {
    std::string path = testing::TempDir() + "checkpoint_test." + GetParam();
    void save(const NamedTensors &all) const {
        path.ends_with("ckpt") ? save_mindspore_ckpt(path, all) : save_safetensors(path, all);
    }
    std::string message() const {
        try {
            load_checkpoint(path);
        } catch (const Error &e) {
            return e.what();
        }
        return "no error";
    }
};
INSTANTIATE_TEST_SUITE_P(Formats, Checkpoint, testing::Values("safetensors", "ckpt"));

TEST_P(Checkpoint, ReadsFilesOfOtherPrograms) {
    NamedTensors all = load_checkpoint(goldens + "checkpoint." + GetParam());
    auto expected = load_npz(goldens + "checkpoint.npz");
    if (path.ends_with("ckpt")) {
        expected["epoch_num"] = Tensor::scalar(3, DType::i64);
        EXPECT_EQ(all.metadata.at("note"), "as of today");
    } else
        EXPECT_EQ(all.metadata.at("epoch"), "3");
    expect_same(all, expected);
}

TEST_P(Checkpoint, RoundTrips) {
    const NamedTensors all = some_tensors();
    save(all);
    const NamedTensors back = load_checkpoint(path);
    std::map<std::string, Tensor> expected(all.tensors.begin(), all.tensors.end());
    expected["turned"] = expected["turned"].copy();
    expect_same(back, expected);
    EXPECT_EQ(back.metadata, all.metadata);
    save({});
    EXPECT_TRUE(load_checkpoint(path).tensors.empty());
}

TEST_P(Checkpoint, DetectsADamagedByte) {
    save(some_tensors());
    const std::string whole = bytes_in(path);
    const size_t at = whole.find(std::string("\0\0\x80\x3f", 4));  // 1.0f
    ASSERT_NE(at, std::string::npos);
    std::string damaged = whole;
    damaged[at + 2] = 1;
    put(path, damaged);
    EXPECT_NE(message().find("damaged: its "), std::string::npos) << message();
}

// Only the kit's errors occur, and sizes are checked before memory is allocated.
TEST_P(Checkpoint, SurvivesTruncationAndMutation) {
    save(some_tensors());
    const std::string whole = bytes_in(path);
    const MemoryFile file;
    const auto rejected = [&](const std::string &bytes) {
        file.put(bytes);
        try {
            path.ends_with("ckpt") ? load_mindspore_ckpt(file.path())
                                   : load_safetensors(file.path());
        } catch (const Error &) {
            return true;
        }
        return false;
    };
    EXPECT_FALSE(rejected(whole));
    for (size_t n = 0; n < whole.size(); n++)
        EXPECT_TRUE(rejected(whole.substr(0, n))) << n;
    std::mt19937 random(1);
    int noticed = 0;
    constexpr int tries = 3000;
    for (int i = 0; i < tries; i++) {
        std::string other = whole;
        for (int k = 0; k < 1 + i % 4; k++)
            other[random() % other.size()] = char(random());
        noticed += rejected(other);
    }
    EXPECT_GT(noticed, tries * 9 / 10);
}

// The checksum covers names, metadata and the header's own lengths too.
TEST_P(Checkpoint, ChecksumCoversEveryBit) {
    NamedTensors all;
    all.tensors.emplace_back("w", Tensor::ones({2}));
    all.metadata = {{"epoch_num", "19"}, {"rng_seed", "10"}};
    save(all);
    const std::string whole = bytes_in(path);
    const MemoryFile file;
    for (size_t bit = 0; bit < 8 * whole.size(); bit++) {
        std::string damaged = whole;
        damaged[bit / 8] ^= char(1 << bit % 8);
        file.put(damaged);
        EXPECT_THROW(path.ends_with("ckpt") ? load_mindspore_ckpt(file.path())
                                            : load_safetensors(file.path()),
                     Error)
            << "bit " << bit;
    }
}

TEST_P(Checkpoint, MetadataCanBeReadSeparately) {
    save(some_tensors());
    EXPECT_EQ(load_metadata(path), some_tensors().metadata);
    put(path, bytes_in(path).substr(0, 7));
    EXPECT_THROW(load_metadata(path), IoError);
}

TEST_P(Checkpoint, RejectsUnreadableNames) {
    for (auto &[names, expected] : std::map<std::vector<std::string>, std::string>{
             {{""}, "a tensor without a name"}, {{"a", "a"}, "'a' stands there twice"}}) {
        NamedTensors all;
        for (auto &n : names)
            all.tensors.emplace_back(n, Tensor::ones({1}));
        try {
            save(all);
            FAIL() << expected;
        } catch (const IoError &e) {
            EXPECT_EQ(std::string(e.what()), "[" + path + "] " + expected);
        }
    }
    for (auto &entry : fs::directory_iterator(testing::TempDir()))
        EXPECT_FALSE(entry.path().string().starts_with(path + ".")) << entry.path();
}

// A program that is killed at any moment leaves the old file or the new one.
TEST_P(Checkpoint, IsWrittenAtomically) {
    const auto filled = [](double v) {
        return NamedTensors{{{"w", Tensor::full({64, 1024}, v)}}, {}};
    };
    save(filled(-1));
    for (int round = 0; round < 20; round++) {
        const pid_t child = fork();
        if (child == 0) {
            for (int k = 0;; k++)
                save(filled(k));
        }
        usleep(500 + 700 * (useconds_t)round);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        const auto w = load_checkpoint(path).tensors.at(0).second.to_vector<float>();
        for (float v : w)
            ASSERT_EQ(v, w[0]);
    }
    for (auto &entry : fs::directory_iterator(testing::TempDir()))
        // Removes the temporary files of killed processes.
        if (entry.path().string().starts_with(path + ".")) fs::remove(entry.path());
}

TEST(Safetensors, ReadsFilesOfOlderVersions) {
    const std::string path = testing::TempDir() + "older.safetensors";
    const auto older = [&](const std::string &sum) {
        std::string header = R"({"__metadata__":{"epoch":"3","halyard.xxh3_64":")" + sum +
                             R"("},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
        header.resize((header.size() + 7) / 8 * 8, ' ');
        put(path, std::string(1, char(header.size())) + std::string(7, '\0') + header);
        return load_checkpoint(path).metadata;
    };
    // XXH3 of no bytes.
    EXPECT_EQ(older("2d06800538d394c2"), (std::map<std::string, std::string>{{"epoch", "3"}}));
    EXPECT_THROW(older("2d06800538d394c3"), IoError);
}

TEST(MindSporeCkpt, RejectsEmptyAndTruncatedFiles) {
    const std::string path = testing::TempDir() + "cut.ckpt";
    const auto message = [&](const std::string &bytes) {
        put(path, bytes);
        try {
            load_checkpoint(path);
        } catch (const Error &e) {
            return std::string(e.what()).substr(path.size() + 3);
        }
        return std::string("no error");
    };
    EXPECT_EQ(message(""), "is empty, or was cut before its first value");
    save_mindspore_ckpt(path, {{{"a", Tensor::ones({2})}, {"b", Tensor::ones({2})}}, {}});
    const std::string whole = bytes_in(path);
    EXPECT_EQ(message(whole.substr(0, whole.size() - 17)),
              "was cut: the checksum at its end is missing");
    // MindSpore's own files need not have one: they are read, with a warning that they can't be
    // verified.
    const size_t from = whole.find("\x0a\x01"
                                   "a") -
                        2;  // The first tensor's value begins here, behind our own text.
    ASSERT_LT(from, whole.size());
    testing::internal::CaptureStderr();
    EXPECT_EQ(message(whole.substr(from, whole.size() - 17 - from)), "no error");
    EXPECT_NE(testing::internal::GetCapturedStderr().find(path + " has no checksum"),
              std::string::npos);
}

TEST(Checkpoints, LimitTheNumberOfEntries) {
    const std::string path = testing::TempDir() + "many";
    std::string header = "{";
    for (int i = 0; i < 100'001; i++) {
        header += (i ? ",\"" : "\"") + std::to_string(i) +
                  R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    }
    header += "}";
    std::string start;
    for (int i = 0; i < 8; i++)
        start += char(header.size() >> 8 * i);
    put(path + ".safetensors", start + header);
    std::string values;
    for (int i = 0; i < 100'001; i++)
        values += std::string("\x0a\0", 2);
    put(path + ".ckpt", values);
    for (const char *format : {".safetensors", ".ckpt"}) {
        try {
            load_checkpoint(path + format);
            ADD_FAILURE() << format;
        } catch (const IoError &e) {
            EXPECT_NE(std::string(e.what()).find("100000"), std::string::npos) << e.what();
        }
    }
}

TEST(Safetensors, RejectsInconsistentFiles) {
    const std::string path = testing::TempDir() + "contradiction.safetensors";
    const auto message = [&](const std::string &header, size_t data) {
        std::string bytes(8, '\0');
        bytes[0] = char(header.size());
        put(path, bytes + header + std::string(data, '\1'));
        try {
            load_safetensors(path);
        } catch (const Error &e) {
            return std::string(e.what()).substr(path.size() + 3);
        }
        return std::string("no error");
    };
    const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
    EXPECT_EQ(message("{" + a + "}", 2), "no error");
    EXPECT_EQ(message("{" + a + "}", 3), "has 3 bytes of data, its tensors have 2");
    EXPECT_EQ(message("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3),
              "'b' is at bytes 1 to 3, expected to begin at 2");
    EXPECT_EQ(message("{" + a + "," + a + "}", 2), "'a' stands there twice");
    EXPECT_EQ(message(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", 2),
              "'a' has 2 bytes, but U8 [3] takes 3");
    EXPECT_EQ(message(R"({"a":{"dtype":"I16","shape":[1],"data_offsets":[0,2]}})", 2).substr(0, 18),
              "'a' has type I16, ");
    EXPECT_EQ(message(R"({"a":{"dtype":"U8","data_offsets":[0,2]}})", 2),
              "'a' needs dtype, shape and two data_offsets");
    EXPECT_EQ(message(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]}})", 2),
              "a number below 0: -1");
    EXPECT_EQ(message(R"({"a":[[[[]]]]})", 0), "a list where none belongs");
    EXPECT_EQ(message(R"({"a":{"dtype":"U8","shape":[99999999999],"data_offsets":[0,2]}})", 2)
                  .substr(0, 5),
              "shape");
    EXPECT_EQ(message(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1), "no error");
    EXPECT_EQ(message("[]", 0), "its header doesn't begin with '{'");
    EXPECT_EQ(message("{\"a\":", 0), "no JSON at byte 6 of the header");
}

TEST(LoadParam, ReportsMismatches) {
    const std::string path = testing::TempDir() + "net.safetensors";
    const nn::SequentialCell net({nn::Dense(3, 4), nn::Dense(4, 2)});
    const nn::SequentialCell same({nn::Dense(3, 4), nn::Dense(4, 2)});
    const nn::SequentialCell other({nn::Dense(3, 4), nn::Dense(4, 5)});
    save_checkpoint(net, path, {{"epoch", "1"}});
    const NamedTensors saved = load_checkpoint(path);
    EXPECT_EQ(saved.metadata.at("epoch"), "1");
    EXPECT_TRUE(load_param_into_net(same, saved, true).complete());
    for (auto &[name, p] : same.parameters_dict()) {
        EXPECT_EQ(p.data().to_vector<float>(),
                  net.parameters_dict().at(name).data().to_vector<float>());
    }

    NamedTensors more = saved;
    more.tensors.emplace_back("extra", Tensor::ones({1}));
    more.tensors.erase(more.tensors.begin());
    const std::string missing = saved.tensors[0].first;
    const auto before = other.parameters_dict().at(missing).data().to_vector<float>();
    const LoadReport report = load_param_into_net(other, more);
    EXPECT_EQ(report.param_not_load, std::vector<std::string>{missing});
    EXPECT_EQ(report.ckpt_not_load, std::vector<std::string>{"extra"});
    EXPECT_EQ(report.mismatched.size(), 2u);
    EXPECT_EQ(report.mismatched[0], "1.weight: [5,4] here, [2,4] in the checkpoint");
    EXPECT_EQ(other.parameters_dict().at(missing).data().to_vector<float>(), before);
    try {
        load_param_into_net(other, more, true);
        FAIL();
    } catch (const AttrError &e) {
        EXPECT_NE(std::string(e.what()).find(
                      "1 tensors of the checkpoint that the network hasn't: extra\n"),
                  std::string::npos)
            << e.what();
    }
}

}  // namespace
}  // namespace halyard
