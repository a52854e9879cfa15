// Tests rows from TFRecord files, tar files and generators. tests/goldens/records.py made the
// files.
#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "tests/registry/expect_error.h"
#include "tests/train/files.h"
#include "tests/train/memory_file.h"
#include "train/data/generator.h"
#include "train/formats/crc32c.h"
#include "train/formats/tfrecord.h"
#include "train/formats/web_dataset.h"
#include "train/vision/image.h"

namespace halyard::dataset {
namespace {
namespace fs = std::filesystem;

struct Records : testing::Test {
    void SetUp() override {
        dir = fs::path(testing::TempDir()) /
              ("records_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(dir);
        fs::create_directories(dir);
    }
    void TearDown() override { fs::remove_all(dir); }
    std::string at(const std::string &name) const { return dir / name; }
    std::string put(const std::string &name, const std::string &bytes) const {
        std::ofstream(at(name), std::ios::binary) << bytes;
        return at(name);
    }
    fs::path dir;
};

std::string bytes_in(const std::string &path) {
    const Tensor t = read_bytes(path);
    return {(const char *)t.raw(), t.bytes()};
}

std::string text(const Tensor &t) {
    const Tensor dense = t.contiguous();
    return {(const char *)dense.raw(), dense.bytes()};
}

// Returns a record with valid checksums whose bytes are no Example.
std::string record(const std::string &data) {
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; i++)
        length[i] = char(data.size() >> 8 * i);
    const auto sum = [](const std::string &s) {
        const uint32_t masked = masked_crc32c(s);
        return std::string(reinterpret_cast<const char *>(&masked), 4);
    };
    return length + sum(length) + data + sum(data);
}

int64_t count(const Dataset &d) {
    const auto source = d.node()->open({});  // Opening it without the iterator's thread is faster.
    int64_t n = 0;
    for (Row row; source->next(row);)
        n++;
    return n;
}

void write_tar(const std::string &path,
               const std::vector<std::pair<std::string, std::string>> &files, bool packed = false) {
    const std::unique_ptr<archive, int (*)(archive *)> out(archive_write_new(), archive_write_free);
    archive_write_set_format_ustar(out.get());
    if (packed) archive_write_add_filter_gzip(out.get());
    ASSERT_EQ(archive_write_open_filename(out.get(), path.c_str()), ARCHIVE_OK);
    for (const auto &[name, data] : files) {
        const std::unique_ptr<archive_entry, void (*)(archive_entry *)> entry(archive_entry_new(),
                                                                              archive_entry_free);
        archive_entry_set_pathname(entry.get(), name.c_str());
        archive_entry_set_size(entry.get(), (la_int64_t)data.size());
        archive_entry_set_filetype(entry.get(), AE_IFREG);
        ASSERT_EQ(archive_write_header(out.get(), entry.get()), ARCHIVE_OK);
        ASSERT_EQ(archive_write_data(out.get(), data.data(), data.size()), (la_ssize_t)data.size());
    }
}

}  // namespace

// The values are those of RFC 3720, B.4.
TEST(Crc32c, MatchesTheStandard) {
    EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
    EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
    EXPECT_EQ(crc32c(""), 0u);
}

TEST_F(Records, TFRecordMatchesMindSpore) {
    const auto expected = load_npz(goldens + "records.npz");
    const TFRecordDataset d({goldens + "records.tfrecord"}, {}, {.shuffle = false});
    EXPECT_EQ(d.get_col_names(), (std::vector<std::string>{"box", "image", "label"}));
    EXPECT_EQ(d.get_dataset_size(), 5);
    int64_t i = 0;
    for (const Row &row : d.create_dict_iterator()) {
        EXPECT_EQ(row["label"].to_vector<int64_t>(),
                  expected.at("label").slice(0, i, i + 1).to_vector<int64_t>());
        EXPECT_EQ(row["label"].dtype(), DType::i64);
        EXPECT_EQ(row["box"].to_vector<float>(),
                  expected.at("box").slice(0, i, i + 1).to_vector<float>());
        EXPECT_EQ(row["image"].shape(), Shape{40});
        EXPECT_EQ(row["image"].at({39}), double(39 + i++));
    }
    EXPECT_EQ(i, 5);
    const TFRecordDataset some({goldens + "records.tfrecord"},
                               {{"label", DType::i32, Shape{}}, {"image", {}, Shape{4, 10}}});
    for (const Row &row : some.create_dict_iterator(0, 4, 4)) {
        EXPECT_EQ(row["label"].shape(), Shape{});
        EXPECT_EQ(row["label"].item<int32_t>(), 2);
        EXPECT_EQ(row["image"].shape(), (Shape{4, 10}));
    }
    const auto complaint = [](const std::vector<TFColumn> &schema) {
        return message([&] { count(TFRecordDataset({goldens + "records.tfrecord"}, schema)); });
    };
    const std::string first = "[" + goldens + "records.tfrecord: record 0 at byte 0] feature ";
    EXPECT_EQ(complaint({{"labels"}}), first + "labels isn't there");
    EXPECT_EQ(complaint({{"box", {}, Shape{3}}}), first + "box has 4 values, expected [3]");
}

TEST_F(Records, ReportsOrSkipsDamagedRecords) {
    const MemoryFile file;
    const std::string whole = bytes_in(goldens + "records.tfrecord");
    const std::string path = file.path();
    std::set<size_t> ends = {0};
    for (size_t n = 0; n < whole.size(); ends.insert(n))
        n += 16 + (unsigned char)whole[n];
    ASSERT_EQ(ends.size(), 6u);
    const std::vector<TFColumn> schema = {{"label"}};
    const auto raised = [&](const std::string &bytes) {
        file.put(bytes);
        return message([&] { count(TFRecordDataset({path}, schema)); });
    };
    const auto left = [&](const std::string &bytes) {
        file.put(bytes);
        return count(TFRecordDataset({path, goldens + "records.tfrecord"}, schema,
                                     {.on_error = OnError::SKIP}));
    };
    testing::internal::CaptureStderr();
    for (size_t n = 0; n < whole.size(); n++) {
        const std::string m = raised(whole.substr(0, n));
        const bool between = ends.contains(n);  // At these lengths nothing seems to be missing.
        EXPECT_TRUE(between ? m == "no error" : m.starts_with("[" + path + ": record ")) << n << m;
        EXPECT_EQ(left(whole.substr(0, n)),
                  5 + std::distance(ends.begin(), ends.upper_bound(n)) - 1)
            << n;
    }
    for (size_t n = 0; n < whole.size(); n++) {
        std::string other = whole;
        other[n] = char(other[n] ^ 1 << n % 8);
        EXPECT_TRUE(raised(other).starts_with("[" + path + ": record ")) << n;
        EXPECT_GE(left(other), 5) << n;
    }
    testing::internal::GetCapturedStderr();
    std::string other = whole;
    other[12]++;
    EXPECT_EQ(
        raised(other),
        "[" + path +
            ": record 0 at byte 0] is damaged: its message hasn't the checksum that stands there");
    EXPECT_EQ(left(other), 9);
    EXPECT_EQ(raised(record("\x0a\xff")),
              "[" + path + ": record 0 at byte 0] is no tf.train.Example");
    std::string lie = record(std::string(20, 'x'));
    lie.resize(20);
    EXPECT_EQ(raised(lie),
              "[" + path + ": record 0 at byte 0] has a length of 20, but 4 bytes are left");
    EXPECT_EQ(message([&] { TFRecordDataset({put("empty", "")}); }),
              "[TFRecordDataset] no file has a record");
}

TEST_F(Records, FilesAreDistributedAndShuffled) {
    std::vector<std::string> shards;
    for (int s = 0; s < 6; s++) {
        shards.push_back(at(std::to_string(s) + ".tar"));
        write_tar(shards.back(), {{std::to_string(s) + "0.cls", std::to_string(10 * s)},
                                  {std::to_string(s) + "1.cls", std::to_string(10 * s + 1)}});
    }
    const auto rows = [&](const RecordOptions &o, uint64_t pass, int64_t start) {
        std::vector<int> v;
        for (const Row &row : WebDataset(shards, {"cls"}, o).create_dict_iterator(pass, 4, start))
            v.push_back(row["cls"].item<int32_t>());
        return v;
    };
    set_seed(3);
    EXPECT_EQ(rows({.shuffle = false}, 0, 0),
              (std::vector<int>{0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51}));
    EXPECT_EQ(rows({.shuffle = false, .num_shards = 4, .shard_id = 1}, 0, 0),
              (std::vector<int>{10, 11, 50, 51}));
    EXPECT_EQ(rows({.shuffle = false, .num_shards = 4, .shard_id = 1}, 0, 1),
              (std::vector<int>{11, 50, 51}));
    const auto first = rows({}, 0, 0);
    EXPECT_NE(first, rows({}, 1, 0));
    EXPECT_EQ(std::set<int>(first.begin(), first.end()).size(), 12u);
    EXPECT_EQ(rows({}, 0, 5), std::vector<int>(first.begin() + 5, first.end()));
    EXPECT_EQ(WebDataset(shards, {"cls"}, {.num_shards = 4, .shard_id = 1}).get_dataset_size(), 4);
    EXPECT_EQ(message([&] { WebDataset(shards, {"cls"}, {.num_shards = 7}); }),
              "[WebDataset] num_shards is 7, more than the 6 files");
    EXPECT_EQ(message([&] { count(WebDataset({at("none")}, {"cls"})); }),
              "[" + at("none") + "] can't be read: No such file or directory");
}

// Python's tarfile wrote it: PAX headers, a key with dots in its folder and a letter that isn't
// ASCII, extensions in capitals.
TEST_F(Records, ReadsPythonsTarFiles) {
    const WebDataset d({goldens + "records.tar"}, {"png;jpg", "cls", "__key__"});
    EXPECT_EQ(d.get_dataset_size(), 3);
    int i = 0;
    for (const Row &row : d.create_dict_iterator()) {
        EXPECT_EQ(text(row["png;jpg"]), std::string({char(i), 1, 2}));
        EXPECT_EQ(row["cls"].item<int32_t>(), 10 * i);
        EXPECT_EQ(text(row["__key__"]), "./a.b/é" + std::to_string(i++));
    }
    EXPECT_EQ(i, 3);
}

TEST_F(Records, CompressedTarAndUnusualSamples) {
    const std::string path = at("s.tar.gz");
    write_tar(path,
              {{"a.txt", std::string(100000, 'a')},
               {"a.cls", "1"},
               {"b.cls", "2"},
               {"c.txt", "c"},
               {"c.cls", "x"},
               {"d.txt", ""},
               {"d.cls", "4"}},
              true);
    EXPECT_LT(fs::file_size(path), 2000u);
    const auto complaint = [&](const Dataset &d) { return message([&] { count(d); }); };
    EXPECT_EQ(complaint(WebDataset({path}, {"txt", "cls"})).substr(path.size() + 3),
              "b.cls at byte 101888] the sample has no txt");
    const WebDataset d({path}, {"txt", "cls"}, {.on_error = OnError::SKIP});
    testing::internal::CaptureStderr();
    std::vector<size_t> lengths;
    for (const Row &row : d.create_dict_iterator())
        lengths.push_back(row["txt"].bytes());
    EXPECT_EQ(lengths, (std::vector<size_t>{100000, 0}));
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(d.skipped().size(), 2u);
    EXPECT_EQ(d.skipped().rbegin()->first.substr(path.size() + 3),
              "c.txt at byte 102912] cls is no 32-bit number");
    EXPECT_EQ(message([&] {
                  WebDataset({path}, {"txt", "cls;txt"});
              }),
              "[WebDataset] column cls;txt has an empty kind or one twice");
    write_tar(path, {{"a.txt", "1"}, {"a.txt", "2"}});
    EXPECT_EQ(complaint(WebDataset({path}, {"txt"})).substr(path.size() + 3),
              "a.txt at byte 0] the sample has a second txt");
}

// A megabyte may be compressed to a kilobyte.
TEST_F(Records, RejectsRecordsAboveTheLimit) {
    const std::string path = at("s.tar.gz");
    write_tar(path, {{"a.txt", std::string(100'001, 'a')}, {"b.txt", std::string(100'000, 'b')}},
              true);
    const auto complaint = [&](const Dataset &d) { return message([&] { count(d); }); };
    EXPECT_EQ(complaint(WebDataset({path}, {"txt"}, {.max_bytes = 100'000})),
              "[" + path + ": a.txt at byte 0] has 100001 bytes, the limit is 100000");
    EXPECT_EQ(complaint(WebDataset({path}, {"txt"}, {.max_bytes = 100'001})), "no error");
    const std::string records = goldens + "records.tfrecord";
    EXPECT_NE(complaint(TFRecordDataset({records}, {{"label"}}, {.max_bytes = 10}))
                  .find(", the limit is 10"),
              std::string::npos);
    EXPECT_EQ(message([&] { WebDataset({path}, {"txt"}, {.max_bytes = 0}); }),
              "[WebDataset] max_bytes is 0, expected 1 to 2^31-1");
}

TEST_F(Records, ErrorsNameDamagedTars) {
    const MemoryFile file;
    const std::string whole = bytes_in(goldens + "records.tar");
    const std::string path = file.path();
    const auto read = [&](const std::string &bytes) {
        file.put(bytes);
        return message([&] { count(WebDataset({path}, {"jpg", "cls"})); });
    };
    for (size_t n = 0; n < whole.size(); n += n < 16 ? 1 : 97) {
        const std::string m = read(whole.substr(0, n));
        EXPECT_TRUE(m == "no error" || m.starts_with("[" + path)) << n << m;
    }
    EXPECT_EQ(read(""), "[" + path + "] damaged tar file: Unrecognized archive format");
    EXPECT_NE(read(whole.substr(0, 1100)).find("Truncated"), std::string::npos)
        << read(whole.substr(0, 1100));
    std::string lie = whole;
    lie[1024 + 8]++;  // The byte is in a name, under the header's checksum.
    EXPECT_TRUE(read(lie).starts_with("[" + path)) << read(lie);
}

TEST_F(Records, Generators) {
    struct Squares {
        int64_t size() const { return 10; }
        Tensors operator[](int64_t i) const {
            return {Tensor::scalar(double(i)), Tensor::scalar(double(i * i))};
        }
    };
    for (const int workers : {1, 4}) {
        const GeneratorDataset d(Squares(), {"x", "y"}, {.num_parallel_workers = workers});
        EXPECT_EQ(d.get_dataset_size(), 10);
        std::set<double> seen;
        for (const Row &row : d.create_dict_iterator()) {
            seen.insert(row["x"].item());
            EXPECT_EQ(row["y"].item(), row["x"].item() * row["x"].item());
        }
        EXPECT_EQ(seen.size(), 10u);
    }
    const auto upto = [](int n) {
        return [n] {
            return [n, i = 0](Tensors &row) mutable {
                row = {Tensor::scalar(i)};
                return i++ < n;
            };
        };
    };
    const GeneratorDataset once(upto(4), "x");
    EXPECT_EQ(once.get_dataset_size(), 4);
    EXPECT_EQ(count(once.repeat(2).batch(3)), 3);
    EXPECT_EQ(message([&] {
                  count(GeneratorDataset(upto(4), {"x", "y"}));
              }),
              "[GeneratorDataset] a row has 1 tensors, expected 2");
    EXPECT_EQ(message([&] { GeneratorDataset(Squares(), {}); }),
              "[GeneratorDataset] there are no column_names");
}

}  // namespace halyard::dataset
