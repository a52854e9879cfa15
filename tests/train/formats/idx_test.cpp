#include "train/formats/idx.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "registry/base/error.h"
#include "registry/tensor/memory.h"

using namespace halyard;
using namespace halyard::dataset;

namespace {

class Idx : public testing::Test {
protected:
    void SetUp() override {
        dir = std::filesystem::temp_directory_path() /
              ("halyard_idx_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        std::filesystem::create_directories(dir);
    }
    void TearDown() override { std::filesystem::remove_all(dir); }
    std::string write(const std::string &name, const std::string &bytes) const {
        const std::string path = (dir / name).string();
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    std::filesystem::path dir;
};

std::string word(uint32_t v) {
    return {char(v >> 24), char(v >> 16), char(v >> 8), char(v)};
}

std::string images(uint32_t n, uint32_t h, uint32_t w) {
    std::string s = word(0x803) + word(n) + word(h) + word(w);
    for (uint32_t i = 0; i < n * h * w; i++)
        s += char(i * 7);
    return s;
}

std::string message_of(const std::string &path, int rank) {
    try {
        (void)read_idx(path, rank);
    } catch (const IoError &e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_F(Idx, ReadsImagesAndLabels) {
    const std::string i = write("i", images(3, 2, 4));
    const std::string l = write("l", word(0x801) + word(3) + std::string("\x01\x02\x03", 3));
    const ImagesAndLabels r = read_idx_pair(i, l);
    EXPECT_EQ(r.images.shape(), (Shape{3, 2, 4}));
    EXPECT_EQ(r.images.at({2, 1, 3}), 23 * 7);
    EXPECT_EQ(r.labels.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ(read_idx(write("none", images(0, 28, 28)), 3).shape(), (Shape{0, 28, 28}));
}

TEST_F(Idx, RejectsFilesTruncatedAtAnyByte) {
    const std::string whole = images(2, 3, 3);
    for (size_t n = 0; n < whole.size(); n++) {
        const std::string path = write("t", whole.substr(0, n));
        EXPECT_THROW((void)read_idx(path, 3), IoError) << n << " bytes";
    }
    EXPECT_NO_THROW((void)read_idx(write("t", whole), 3));
    EXPECT_THROW((void)read_idx(write("t", whole + "x"), 3), IoError);
}

// With any bit of the header flipped, the file is rejected, or the extents still match the file (a
// 2 and a 3 that changed places).
TEST_F(Idx, RejectsAnyFlippedHeaderBit) {
    const std::string whole = images(2, 3, 4);
    const int64_t before = memory::stats().peak_bytes;
    int rejected = 0;
    for (size_t bit = 0; bit < 16 * 8; bit++) {
        std::string bytes = whole;
        bytes[bit / 8] = char(bytes[bit / 8] ^ 1 << bit % 8);
        try {
            EXPECT_EQ(read_idx(write("f", bytes), 3).elements(), 24) << "bit " << bit;
        } catch (const IoError &) {
            rejected++;
        }
    }
    EXPECT_EQ(rejected, 128);
    // No extent of a corrupt header was allocated.
    EXPECT_LT(memory::stats().peak_bytes - before, 1 << 16);
}

TEST_F(Idx, CorruptExtentsDoNotOverflow) {
    const std::vector<std::array<uint32_t, 3>> lies = {
        {0xffffffff, 0xffffffff, 0xffffffff},
        {0x10000, 0x10000, 0x10000},
        {0, 0xffffffff, 0xffffffff},
        {0x80000000, 2, 1},
        {0x7fffffff, 1, 1},
    };
    for (const auto &[n, h, w] : lies) {
        EXPECT_THROW(
            (void)read_idx(write("lie", word(0x803) + word(n) + word(h) + word(w) + "abcd"), 3),
            IoError)
            << n << " " << h << " " << w;
    }
}

TEST_F(Idx, MessagesNameFileFieldAndBothValues) {
    const std::string magic = write("magic", word(0x801) + word(3) + "abc");
    EXPECT_EQ(message_of(magic, 3),
              "[" + magic + "] magic number is 0x00000801, expected 0x00000803 (bytes, rank 3)");
    const std::string length = write("length", word(0x801) + word(5) + "abc");
    EXPECT_EQ(message_of(length, 1),
              "[" + length + "] extents [5] make 5 bytes, but 3 follow the header");
    const std::string header = write("header", word(0x803) + word(5));
    EXPECT_EQ(message_of(header, 3),
              "[" + header + "] extent 1 is missing: the file has 8 bytes, its header 16");
    EXPECT_NE(message_of((dir / "absent").string(), 1).find("can't be read"), std::string::npos);
    try {
        (void)read_idx_pair(write("i", images(2, 1, 1)), write("l", word(0x801) + word(3) + "abc"));
        FAIL();
    } catch (const IoError &e) {
        EXPECT_NE(std::string(e.what()).find("number of labels is 3, expected 2 as in"),
                  std::string::npos)
            << e.what();
    }
}
