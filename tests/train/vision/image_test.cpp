// Tests image files and the datasets that read them.
#include "train/vision/image.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "tests/registry/expect_error.h"
#include "tests/train/files.h"
#include "train/data/sources.h"
#include "train/formats/image_folder.h"

namespace halyard::dataset {
namespace {
namespace fs = std::filesystem;

struct Images : testing::Test {
    void SetUp() override {
        dir = fs::path(testing::TempDir()) /
              ("images_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(dir);
        fs::create_directories(dir);
    }
    void TearDown() override { fs::remove_all(dir); }
    std::string at(const std::string &name) const { return dir / name; }
    void put(const std::string &name, const std::string &bytes) const {
        fs::create_directories(fs::path(at(name)).parent_path());
        std::ofstream(at(name), std::ios::binary) << bytes;
    }
    void put_image(const std::string &name, int seed) const {
        fs::create_directories(fs::path(at(name)).parent_path());
        write_image(at(name), picture(4 + seed, 6, seed));
    }
    // Makes a smooth image that JPEG hardly changes.
    static Tensor picture(int64_t h, int64_t w, int seed) {
        const Tensor t = Tensor::empty({h, w, 3}, DType::u8);
        for (int64_t i = 0; i < t.elements(); i++)
            t.data<uint8_t>()[i] = uint8_t(40 * (i % 3) + 3 * (i / 3 % w) + 2 * (i / 3 / w) + seed);
        return t;
    }
    fs::path dir;
};

TEST_F(Images, PngRoundTripsExactlyAndJpegNearly) {
    const Tensor image = picture(17, 31, 0);
    write_image(at("a.png"), image);
    write_image(at("a.jpg"), image, 95);
    EXPECT_EQ(decode_image(read_bytes(at("a.png")), "a").to_vector<int>(), image.to_vector<int>());
    const auto jpeg = vision::Decode()(read_bytes(at("a.jpg"))).to_vector<int>();
    const auto want = image.to_vector<int>();
    ASSERT_EQ(jpeg.size(), want.size());
    for (size_t i = 0; i < want.size(); i++)
        ASSERT_LE(std::abs(jpeg[i] - want[i]), 6) << i;
}

// Pillow made them: one grey, one with transparency, one with a palette.
TEST_F(Images, EveryKindOfPngBecomesThreeChannels) {
    const std::string goldens = HALYARD_SOURCE_DIR "/tests/goldens/png_";
    const auto values = [&](const std::string &kind) {
        return decode_image(read_bytes(goldens + kind + ".png"), kind).to_vector<int>();
    };
    EXPECT_EQ(values("grey"), (std::vector<int>{7, 7, 7, 200, 200, 200}));
    EXPECT_EQ(values("rgba"), (std::vector<int>{1, 2, 3, 250, 128, 0}));
    EXPECT_EQ(values("palette"), (std::vector<int>{10, 20, 30, 40, 50, 60}));
}

TEST_F(Images, ErrorsNameDamagedFiles) {
    write_image(at("a.png"), picture(40, 40, 0));
    write_image(at("a.jpg"), picture(40, 40, 0));
    for (const char *name : {"a.png", "a.jpg"}) {
        const Tensor whole = read_bytes(at(name));
        // These bytes follow the last row: checksums, and PNG's last chunk.
        constexpr int64_t end = 24;
        for (int64_t n = 0; n < whole.elements() - end; n += 1 + n / 20) {
            const std::string m = message([&] { decode_image(whole.slice(0, 0, n), "my file"); });
            EXPECT_TRUE(m.starts_with("[my file] ")) << name << " " << n << ": " << m;
        }
        std::mt19937 random(1);
        for (int i = 0; i < 500; i++) {
            const Tensor other = whole.copy();
            for (int k = 0; k < 3; k++)
                other.data<uint8_t>()[random() % size_t(other.elements())] = uint8_t(random());
            // This gives an image or an error of the kit.
            message([&] { decode_image(other, "my file"); });
        }
    }
    EXPECT_EQ(message([&] { decode_image(Tensor::zeros({9}, DType::u8), "x"); }),
              "[x] neither JPEG nor PNG: 9 bytes");
    EXPECT_EQ(message([&] { decode_image(Tensor::zeros({9}), "x"); }),
              "[x] an image file is u8[n], got f32[9]");
    EXPECT_EQ(message([&] { read_bytes(at("none")); }),
              "[" + at("none") + "] can't be read: No such file or directory");
    EXPECT_EQ(message([&] { write_image(at("a.gif"), picture(2, 2, 0)); }),
              "[" + at("a.gif") + "] ends in none of .png, .jpg and .jpeg");
    EXPECT_EQ(message([&] {
                  write_image(at("b.png"), Tensor::zeros({2, 2, 4}, DType::u8));
              }),
              "[" + at("b.png") + "] an image has shape [h,w,3], got [2,2,4]");
    EXPECT_FALSE(fs::exists(at("b.png")));
}

// With any chroma subsampling the pixels are those of the full image.
TEST_F(Images, PartialJpegDecodingMatchesTheFullImage) {
    std::mt19937 random(1);
    for (const std::string kind : {"444", "422", "420", "440", "grey", "progressive", "cmyk"}) {
        const Tensor bytes = read_bytes(HALYARD_SOURCE_DIR "/tests/goldens/jpeg_" + kind + ".jpg");
        const Tensor whole = decode_image(bytes, kind);
        const int64_t h = whole.size(0), w = whole.size(1);
        for (int i = 0; i < 300; i++) {
            const auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
            Box b{below(h), below(w), 0, 0};
            b.height = 1 + below(h - b.top);
            b.width = 1 + below(w - b.left);
            const Tensor part = decode_part(bytes, kind, [&](int64_t height, int64_t width) {
                EXPECT_EQ(height, h);
                EXPECT_EQ(width, w);
                return b;
            });
            ASSERT_EQ(part.to_vector<int>(), whole.slice(0, b.top, b.top + b.height)
                                                 .slice(1, b.left, b.left + b.width)
                                                 .to_vector<int>())
                << kind << " " << b.top << " " << b.left << " " << b.height << " " << b.width;
        }
    }
}

// Pillow's decoder is the same library: see tests/goldens/jpegs.py.
TEST_F(Images, JpegsMatchPillow) {
    const auto expected = load_npz(HALYARD_SOURCE_DIR "/tests/goldens/jpegs.npz");
    for (const auto &[kind, want] : expected) {
        const Tensor got = decode_image(
            read_bytes(HALYARD_SOURCE_DIR "/tests/goldens/jpeg_" + kind + ".jpg"), kind);
        EXPECT_EQ(got.shape(), want.shape());
        EXPECT_EQ(got.to_vector<int>(), want.to_vector<int>()) << kind;
    }
}

TEST_F(Images, CorruptHeadersAllocateNothing) {
    Tensor jpeg = read_bytes(HALYARD_SOURCE_DIR "/tests/goldens/jpeg_444.jpg").copy();
    auto *p = jpeg.data<uint8_t>();
    int64_t frame = 2;
    while (p[frame + 1] != 0xC0)
        frame += 2 + p[frame + 2] * 256 + p[frame + 3];
    p[frame + 5] = p[frame + 7] = 0x60;
    EXPECT_TRUE(message([&] { decode_image(jpeg, "x"); }).starts_with("[x] damaged JPEG: 24"))
        << message([&] { decode_image(jpeg, "x"); });
    write_image(at("lie.png"), picture(4, 4, 0));
    Tensor png = read_bytes(at("lie.png")).copy();
    png.data<uint8_t>()[18] = png.data<uint8_t>()[22] = 0x60;
    EXPECT_TRUE(message([&] { decode_image(png, "x"); }).starts_with("[x] damaged PNG: "))
        << message([&] { decode_image(png, "x"); });
}

// Returns one chunk of a PNG with a valid checksum.
std::string chunk(const std::string &name, const std::string &content) {
    const auto word = [](uint32_t v) {
        std::string s;
        for (int shift = 24; shift >= 0; shift -= 8)
            s += char(v >> shift);
        return s;
    };
    const std::string summed = name + content;
    return word(uint32_t(content.size())) + summed +
           word(uint32_t(crc32(0, (const Bytef *)summed.data(), (uInt)summed.size())));
}

Tensor tensor_of(const std::string &bytes) {
    return Tensor::from(std::vector<uint8_t>(bytes.begin(), bytes.end()), {int64_t(bytes.size())});
}
std::string decoding(const std::string &bytes, int64_t max_pixels = default_max_pixels) {
    return message([&] { decode_image(tensor_of(bytes), "x", max_pixels); });
}

// libpng skips an unknown chunk in front of the header, whose bytes were taken for the header's.
TEST_F(Images, RejectsAChunkBeforeThePngHeader) {
    write_image(at("a.png"), picture(4, 4, 0));
    const std::string whole = bytes_in(at("a.png"));
    const std::string signature = whole.substr(0, 8);
    std::string content(16, '\0');
    content[8] = 16;
    content[9] = char(255);
    EXPECT_EQ(decoding(signature + chunk("abCd", content) + whole.substr(8)),
              "[x] damaged PNG: its first chunk isn't IHDR");
    EXPECT_EQ(decoding(whole.substr(0, 20)), "[x] damaged PNG: its first chunk isn't IHDR");
}

// Small files claim, rightly or not, to be large images. Each is rejected before memory is
// allocated for its pixels.
TEST_F(Images, RejectsDecompressionBombs) {
    // SOF0, 1, 2, 9 and 10 are sequential and progressive, with Huffman and arithmetic codes.
    for (const char kind : {'\xC0', '\xC1', '\xC2', '\xC9', '\xCA'}) {
        const bool progressive = kind == '\xC2' || kind == '\xCA';
        std::string jpeg("\xFF\xD8\xFF", 3);
        jpeg += kind +
                std::string("\0\x11\x08\x68\x82\x68\x82\x03\x01\x11\0\x02\x11\0\x03\x11\0", 17);
        jpeg += std::string("\xFF\xDA\0\x0C\x03\x01\0\x02\0\x03\0\0", 12) +
                (progressive ? '\0' : '\x3F') + std::string("\0\0\0\xFF\xD9", 5);
        EXPECT_EQ(decoding(jpeg), "[x] damaged JPEG: 26754 x 26754 pixels in " +
                                      std::to_string(jpeg.size()) + " bytes");
        EXPECT_EQ(decoding(jpeg + std::string(2 << 20, '\0')),
                  "[x] has 26754 x 26754 pixels, the limit is 67108864");
    }
    for (const int alpha : {0, 1}) {
        constexpr int64_t side = 9000;
        const std::string header = {
            0,          0, char(side >> 8),     char(side), 0, 0, char(side >> 8),
            char(side), 8, char(alpha ? 6 : 2), 0,          0, 0};
        const std::string png = std::string("\x89PNG\r\n\x1a\n") + chunk("IHDR", header) +
                                chunk("IDAT", std::string(400'000, '\0')) + chunk("IEND", "");
        EXPECT_EQ(decoding(png), "[x] has 9000 x 9000 pixels, the limit is 67108864");
    }
}

TEST_F(Images, LimitIsAnOption) {
    write_image(at("a.png"), picture(40, 40, 0));
    write_image(at("a.jpg"), picture(40, 40, 0));
    for (const char *name : {"a.png", "a.jpg"}) {
        EXPECT_EQ(decoding(bytes_in(at(name)), 1600), "no error");
        EXPECT_EQ(decoding(bytes_in(at(name)), 1599), "[x] has 40 x 40 pixels, the limit is 1599");
    }
    EXPECT_EQ(decoding(bytes_in(at("a.png")), 0), "[x] max_pixels is 0, expected 1 to 536870912");
    // With several scans all coefficients are stored, two bytes for each sample.
    const std::string progressive = bytes_in(HALYARD_SOURCE_DIR
                                             "/tests/goldens/jpeg_progressive.jpg");
    const Tensor image = decode_image(tensor_of(progressive), "x");
    const int64_t pixels = image.size(0) * image.size(1);
    EXPECT_EQ(decoding(progressive, 2 * pixels), "no error");
    EXPECT_NE(decoding(progressive, pixels).find(" pixels in several scans, which take "),
              std::string::npos)
        << decoding(progressive, pixels);
    fs::create_directories(at("c/d"));
    fs::rename(at("a.png"), at("c/d/a.png"));
    const ImageFolderDataset small(at("c"), {.decode = true, .max_pixels = 100});
    EXPECT_EQ(message([&] { (void)*small.create_dict_iterator().begin(); }),
              "[" + at("c/d/a.png") + "] has 40 x 40 pixels, the limit is 100");
    EXPECT_EQ(message([&] { ImageFolderDataset(at("c"), {.max_pixels = 100}); }),
              "[ImageFolderDataset] max_pixels without decode changes nothing");
}

// Every scan of a progressive JPEG visits the full image, and takes a few bytes.
TEST_F(Images, RejectsJpegsOfMoreThanAHundredScans) {
    std::string jpeg("\xFF\xD8\xFF\xDB\0\x43\0", 7);
    jpeg += std::string(64, '\1') + std::string("\xFF\xC2\0\x0B\x08\0\x08\0\x08\x01\x01\x11\0", 13);
    for (const char table : {'\0', '\x10'}) {
        jpeg += std::string("\xFF\xC4\0\x14", 4) + table + '\1' + std::string(16, '\0');
    }  // one code, "0", for 0
    const auto scan = [](int coefficient, int high, int low) {
        return std::string("\xFF\xDA\0\x08\x01\x01\0", 7) + char(coefficient) + char(coefficient) +
               char(high << 4 | low) + '\x7F';
    };
    jpeg += scan(0, 0, 0);
    for (int k = 1; k < 64; k++)
        jpeg += scan(k, 0, 1);
    const std::string end = "\xFF\xD9";
    EXPECT_EQ(decoding(jpeg + end), "no error");
    for (int k = 1; k < 64; k++)
        jpeg += scan(k, 1, 0);
    EXPECT_EQ(decoding(jpeg + end), "[x] damaged JPEG: more than 100 scans");
}

// Links to themselves, pipes, and other entries that are no regular files.
TEST_F(Images, HandlesSpecialEntriesOfAFolder) {
    put_image("a/1.png", 1);
    ASSERT_EQ(mkfifo(at("a/pipe.png").c_str(), 0600), 0);
    EXPECT_EQ(ImageFolderDataset(dir).get_dataset_size(), 1);
    fs::create_symlink("missing.png", at("a/dangling.png"));
    EXPECT_EQ(ImageFolderDataset(dir).get_dataset_size(), 1);
    fs::create_symlink("loop.png", at("a/loop.png"));
    const std::string loop = "[" + at("a/loop.png") +
                             "] can't be read: Too many levels of symbolic links";
    EXPECT_EQ(message([&] { ImageFolderDataset(dir.string()); }), loop);
    const ImageFolderDataset without(dir, {.on_error = OnError::SKIP});
    EXPECT_EQ(without.get_dataset_size(), 1);
    EXPECT_EQ(without.skipped(), (std::map<std::string, int64_t>{{loop, 1}}));
    fs::create_symlink("self", at("self"));
    EXPECT_EQ(message([&] { ImageFolderDataset(dir.string()); }),
              "[" + at("self") + "] can't be read: Too many levels of symbolic links");
    EXPECT_EQ(message([&] { read_bytes(at("a/pipe.png")); }),
              "[" + at("a/pipe.png") + "] can't be read: it is no regular file");
    EXPECT_EQ(message([&] { load_npy(at("a/pipe.png")); }),
              "[" + at("a/pipe.png") + "] not a regular file");
}

TEST_F(Images, FolderGivesLabelsByName) {
    put_image("cat/b.PNG.png", 2);
    put_image("cat/a.jpg", 1);
    put_image("dog/c.jpeg", 3);
    put("dog/notes.txt", "none");
    put("readme", "no folder");
    const ImageFolderDataset d(dir, {.decode = true, .shuffle = false});
    EXPECT_EQ(d.get_class_indexing(), (std::map<std::string, int>{{"cat", 0}, {"dog", 1}}));
    EXPECT_EQ(d.get_dataset_size(), 3);
    std::vector<int64_t> heights, labels;
    for (const Row &row : d.create_dict_iterator()) {
        heights.push_back(row["image"].size(0));
        labels.push_back(int64_t(row["label"].item()));
    }
    EXPECT_EQ(heights, (std::vector<int64_t>{5, 6, 7}));
    EXPECT_EQ(labels, (std::vector<int64_t>{0, 0, 1}));
    const ImageFolderDataset raw(dir, {.shuffle = false, .class_indexing = {{"dog", 7}}});
    for (const Row &row : raw.map(vision::Decode(), "image").create_dict_iterator()) {
        EXPECT_EQ(row["image"].shape(), (Shape{7, 6, 3}));
        EXPECT_EQ(row["label"].item(), 7);
    }
    EXPECT_EQ(message([&] {
                  ImageFolderDataset(dir.string(), {.class_indexing = {{"fox", 0}}});
              }),
              "[ImageFolderDataset] class_indexing has fox, which is no folder of " + dir.string());
    EXPECT_EQ(message([&] { ImageFolderDataset(at("cat")); }),
              "[" + at("cat") + "] has no folder with a .jpg, .jpeg or .png file");
    EXPECT_EQ(message([&] { ImageFolderDataset(at("none")); }),
              "[" + at("none") + "] can't be read: No such file or directory");
}

TEST_F(Images, FolderTakesExtensions) {
    for (const char *name : {"c/a.jpg", "c/b.png", "c/c.png"})
        put_image(name, 1);
    fs::rename(at("c/c.png"), at("c/c.PNG"));
    EXPECT_EQ(ImageFolderDataset(dir, {.extensions = {".png"}}).get_dataset_size(), 2);
    EXPECT_EQ(message([&] {
                  ImageFolderDataset(dir.string(), {.extensions = {".gif", ".bmp"}});
              }),
              "[" + dir.string() + "] has no folder with a .gif or .bmp file");
    EXPECT_EQ(message([&] { ImageFolderDataset(dir.string(), {.extensions = {"png"}}); }),
              "[ImageFolderDataset] extension is 'png', expected a point and letters, as .png");
    EXPECT_EQ(message([&] { ImageFolderDataset(dir.string(), {.extensions = {}}); }),
              "[ImageFolderDataset] extensions are none, expected some, as .png");
}

TEST_F(Images, FolderReadsOnTheAllowedThreads) {
    for (int i = 0; i < 70; i++)
        put_image("c/" + std::to_string(100 + i) + ".png", i);
    for (const int workers : {0, 1, 2, 200}) {
        const ImageFolderDataset d(
            dir, {.decode = true, .shuffle = false, .num_parallel_workers = workers});
        int64_t expected = 0;
        for (const Row &row : d.create_dict_iterator()) {
            EXPECT_EQ(row["image"].size(0), 4 + expected) << workers << " workers";
            expected++;
        }
        EXPECT_EQ(expected, 70);
    }
    EXPECT_EQ(message([&] { ImageFolderDataset(dir.string(), {.num_parallel_workers = -1}); }),
              "[ImageFolderDataset] num_parallel_workers is -1, expected at least 0");
}

TEST_F(Images, FolderOrderDependsOnThePassNotOnThreads) {
    for (int i = 0; i < 70; i++)
        put_image("c/" + std::to_string(i) + ".png", i);
    const ImageFolderDataset d(dir, {.decode = true});
    const auto order = [&](uint64_t pass) {
        std::vector<int64_t> heights;
        for (const Row &row : d.create_dict_iterator(pass))
            heights.push_back(row["image"].size(0));
        return heights;
    };
    const auto first = order(0);
    EXPECT_EQ(first, order(0));
    EXPECT_NE(first, order(1));
    EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 70u);
}

TEST_F(Images, DamagedImagesEndThePassOrAreSkipped) {
    put_image("a/1.jpg", 1);
    put("a/2.jpg", "no image at all");
    put_image("a/3.jpg", 3);
    const std::string expected = "[" + at("a/2.jpg") + "] neither JPEG nor PNG: 15 bytes";
    const auto count = [&](const Dataset &d) {
        int n = 0;
        for (const Row &row : d.create_dict_iterator())
            n += row.size() == 2;
        return n;
    };
    EXPECT_EQ(message([&] { count(ImageFolderDataset(dir, {.decode = true})); }), expected);
    const ImageFolderDataset d(dir, {.decode = true, .on_error = OnError::SKIP});
    EXPECT_EQ(count(d), 2);
    EXPECT_EQ(count(d), 2);
    EXPECT_EQ(d.skipped(), (std::map<std::string, int64_t>{{expected, 2}}));
}

TEST_F(Images, Cifar) {
    const auto record = [](const std::string &labels, int first) {
        std::string s = labels;
        for (int i = 0; i < 3072; i++)
            s += char(first + i / 1024 + 10 * (i % 32));
        return s;
    };
    put("data_batch_1.bin", record("\3", 1) + record("\4", 2));
    put("test_batch.bin", record("\5", 3));
    put("train.bin", record("\1\7", 1));
    put("test.bin", record("\2\x63", 2));
    const Cifar10Dataset test(dir, {.usage = "test", .shuffle = false});
    for (const Row &row : test.create_dict_iterator()) {
        EXPECT_EQ(row["label"].item(), 5);
        EXPECT_EQ(row["image"].shape(), (Shape{32, 32, 3}));
        EXPECT_EQ(row["image"].at({31, 2, 1}), 3 + 1 + 20);
    }
    EXPECT_EQ(Cifar10Dataset(dir).get_dataset_size(), 3);
    const Cifar100Dataset hundred(dir, {.usage = "test"});
    EXPECT_EQ(hundred.get_col_names(),
              (std::vector<std::string>{"image", "coarse_label", "fine_label"}));
    for (const Row &row : hundred.create_dict_iterator())
        EXPECT_EQ(row["fine_label"].item(), 99);
    EXPECT_EQ(message([&] { Cifar10Dataset(dir, {.usage = "train"}); }),
              "[" + at("data_batch_2.bin") + "] can't be read: No such file or directory");
    put("test_batch.bin", "short");
    EXPECT_EQ(message([&] { Cifar10Dataset(dir, {.usage = "test"}); }),
              "[" + at("test_batch.bin") + "] has 5 bytes, expected a multiple of 3073");
    EXPECT_EQ(message([&] { Cifar100Dataset(dir, {.usage = "valid"}); }),
              "[Cifar100Dataset] usage is valid, expected train, test or all");
}

}  // namespace
}  // namespace halyard::dataset
