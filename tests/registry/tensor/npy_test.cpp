#include "registry/tensor/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "registry/tensor/memory.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

class Npy : public testing::Test {
protected:
    void SetUp() override {
        folder = std::filesystem::temp_directory_path() /
                 ("halyard_npy_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::string path(const std::string &name) const { return (folder / name).string(); }

    std::string write(const std::string &bytes) const {
        std::ofstream(path("x.npy"), std::ios::binary) << bytes;
        return path("x.npy");
    }
    // Writes a file of version 1 (or 2) with this dictionary and these data.
    std::string write(std::string dictionary, const std::string &data, int version = 1) const {
        dictionary += '\n';
        std::string length(version == 1 ? 2 : 4, '\0');
        length[0] = char(dictionary.size() & 255);
        length[1] = char(dictionary.size() >> 8);
        return write("\x93NUMPY" + std::string(1, char(version)) + std::string(1, '\0') + length +
                     dictionary + data);
    }
    std::filesystem::path folder;
};

TEST_F(Npy, RoundTripOfEveryDtype) {
    for (int i = 0; i < dtype_count; i++) {
        const auto dtype = (DType)i;
        for (const Shape &shape :
             {Shape{}, Shape{4}, Shape{2, 3}, Shape{2, 0, 3}, Shape{1, 2, 1, 3}}) {
            Tensor t = Tensor::zeros(shape, dtype);
            for (int64_t k = 0; k < t.elements(); k++)
                t.reshape({-1}).set({k}, double(k * 3 % 7));
            save_npy(path("a.npy"), t);
            const Tensor back = dtype == DType::bf16 ? load_npy(path("a.npy"), DType::bf16)
                                                     : load_npy(path("a.npy"));
            EXPECT_EQ(back.dtype(), dtype);
            EXPECT_EQ(back.shape(), shape);
            EXPECT_EQ(back.to_vector<double>(), t.to_vector<double>());
        }
    }
}

TEST_F(Npy, StridedTensorsAreWrittenInTheirOrder) {
    const Tensor t = Tensor::from<float>({0, 1, 2, 3, 4, 5}).reshape({2, 3}).swap_axes(0, 1);
    save_npy(path("a.npy"), t);
    EXPECT_EQ(load_npy(path("a.npy")).to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    std::ifstream file(path("a.npy"), std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(all.size(), 64 * 2 + 24u);
    EXPECT_EQ(all.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }")
        << "as NumPy writes it";
}

TEST_F(Npy, FortranOrderAndVersions) {
    const std::string data("\0\1\2\3\4\5", 6);
    for (const int version : {1, 2, 3}) {
        const Tensor t = load_npy(
            write("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", data, version));
        EXPECT_EQ(t.to_vector<double>(), (std::vector<double>{0, 2, 4, 1, 3, 5}));
        EXPECT_TRUE(t.dense());
    }
    EXPECT_EQ(
        load_npy(write("{\"shape\":(6,),\"fortran_order\":False,\"descr\":\"|i1\"}", data)).shape(),
        Shape{6});
    expect_error<IoError>("[" + path("x.npy") + "] version is 4.0, expected 1.0 to 3.0",
                          [&] { load_npy(write("{}", "", 4)); });
}

TEST_F(Npy, OtherIntegersConvertOnlyIfTheyFit) {
    const std::string two("\xff\xff\x01\x00", 4);
    const auto file = [&](const std::string &descr, int n) {
        return write("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                         std::to_string(n) + ",), }",
                     two);
    };
    EXPECT_EQ(load_npy(file("<i2", 2)).to_vector<int32_t>(), (std::vector<int32_t>{-1, 1}));
    EXPECT_EQ(load_npy(file("<u4", 1)).to_vector<int64_t>(), (std::vector<int64_t>{0x1ffff}));
    EXPECT_EQ(load_npy(file("<u2", 2), DType::i32).to_vector<int32_t>(),
              (std::vector<int32_t>{65535, 1}));
    EXPECT_EQ(load_npy(file("<u2", 2), DType::f32).to_vector<float>(),
              (std::vector<float>{65535, 1}));
    EXPECT_EQ(load_npy(file("<u2", 2), DType::bf16).data<bfloat16>()[1].bits, 1);
    expect_error<DTypeError>(
        "[" + path("x.npy") +
            "] uint16 may be numbers or the bits of bf16: ask for dtype i32 or bf16",
        [&] { load_npy(file("<u2", 2)); });
    expect_error<DTypeError>("[" + path("x.npy") +
                                 "] f32 doesn't hold every value of NumPy's '<u4'",
                             [&] { load_npy(file("<u4", 1), DType::f32); });
    EXPECT_THROW(load_npy(file("<f2", 2), DType::bf16), DTypeError);
    EXPECT_THROW(load_npy(file("<i2", 2), DType::u8), DTypeError);
    for (const char *descr : {"<u8", ">f4", "<c8", "|O", "<U1", "|V4", "<f16"})
        EXPECT_THROW(load_npy(file(descr, 1)), DTypeError) << descr;
}

TEST_F(Npy, RejectsCorruptAndTruncatedFiles) {
    const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                      data(8, '\0');
    EXPECT_EQ(load_npy(write(good, data)).elements(), 2);
    const std::string at = "[" + path("x.npy") + "] ";
    expect_error<IoError>(at + "truncated: shape [2] of <f4 takes 8 bytes, there are 7",
                          [&] { load_npy(write(good, data.substr(1))); });
    expect_error<IoError>(at + "1 bytes follow the data of shape [2]",
                          [&] { load_npy(write(good, data + "x")); });
    expect_error<IoError>("[" + path("none.npy") + "] can't open",
                          [&] { load_npy(path("none.npy")); });
    EXPECT_THROW(load_npy(folder.string()), IoError);
    const auto shape = [](const std::string &s) {
        return "{'descr': '<f4', 'fortran_order': False, 'shape': " + s + ", }";
    };
    memory::trim();
    const int64_t live = memory::stats().live_blocks;
    const int64_t calls = memory::stats().allocations;
    EXPECT_THROW(load_npy(write(shape("(500000000,)"), data)), IoError);
    EXPECT_EQ(memory::stats().allocations, calls) << "no tensor is made for data that aren't there";
    EXPECT_THROW(load_npy(write(shape("(4294967296, 4294967296)"), data)), ShapeError);
    EXPECT_THROW(load_npy(write(shape("(1,1,1,1,1,1,1,1,2)"), data)), ShapeError);
    for (const char *s : {"(99999999999999999999,)", "(-2,)", "(2", "2", "(2,,)", "(a,)"})
        EXPECT_THROW(load_npy(write(shape(s), data)), IoError) << s;
    for (const char *h :
         {"", "{", "{}", "{'descr': '<f4'}",
          "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
          "{'descr': '<f4, 'shape': (2,)}",
          "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"})
        EXPECT_THROW(load_npy(write(h, data)), IoError) << h;
    EXPECT_THROW(load_npy(write("{'descr': '|b1', 'fortran_order': False, 'shape': (8,), }",
                                "\1\1\1\1\1\1\1\2")),
                 IoError);
    const std::string whole = [&] {
        std::ifstream f(write(good, data), std::ios::binary);
        return std::string((std::istreambuf_iterator<char>(f)), {});
    }();
    for (size_t n = 0; n < whole.size(); n++)
        EXPECT_THROW(load_npy(write(whole.substr(0, n))), IoError) << n;
    // With any byte changed, loading gives an error or a tensor, never a crash.
    for (size_t i = 0; i < whole.size(); i++) {
        for (const char c : {'\0', '\xff', '9', '\''}) {
            std::string wrong = whole;
            wrong[i] = c;
            try {
                (void)load_npy(write(wrong));
            } catch (const Error &) {
            }
        }
    }
    EXPECT_EQ(memory::stats().live_blocks, live);
}

std::string le(uint64_t v, int bytes) {
    std::string s;
    for (int i = 0; i < bytes; i++)
        s += char(v >> (8 * i));
    return s;
}

// Returns a .zip with one stored member; `claim` replaces the size in its directory.
std::string archive(const std::string &name, const std::string &data, uint32_t crc,
                    uint32_t claim) {
    const std::string facts = le(20, 2) + le(0, 2) + le(0, 2) + le(0, 4) + le(crc, 4) +
                              le(claim, 4) + le(claim, 4) + le(name.size(), 2) + le(0, 2);
    const std::string local = "PK\3\4" + facts + name + data;
    const std::string directory = "PK\1\2" + le(20, 2) + facts + le(0, 2) + le(0, 2) + le(0, 2) +
                                  le(0, 4) + le(0, 4) + name;
    return local + directory + "PK\5\6" + le(0, 4) + le(1, 2) + le(1, 2) + le(directory.size(), 4) +
           le(local.size(), 4) + le(0, 2);
}

uint32_t crc32(const std::string &s) {
    uint32_t c = ~0u;
    for (const unsigned char b : s) {
        c ^= b;
        for (int i = 0; i < 8; i++)
            c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

TEST_F(Npy, Archives) {
    save_npy(path("a.npy"), Tensor::from<float>({1, 2, 3}));
    std::ifstream f(path("a.npy"), std::ios::binary);
    const std::string member((std::istreambuf_iterator<char>(f)), {});
    const auto load = [&](const std::string &bytes) { return load_npz(write(bytes)); };
    const auto all = load(archive("weight.npy", member, crc32(member), uint32_t(member.size())));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all.at("weight").to_vector<float>(), (std::vector<float>{1, 2, 3}));
    EXPECT_THROW(load(archive("weight.npy", member, crc32(member) + 1, uint32_t(member.size()))),
                 IoError)
        << "checksum";
    EXPECT_THROW(load(archive("weight.npy", member, crc32(member), 0x7fffffff)), IoError) << "size";
    EXPECT_THROW(load("PK"), IoError);
    EXPECT_THROW(load_npz(path("none.npz")), IoError);
    EXPECT_THROW(load_npz(folder.string()), IoError);
    const std::string whole = archive("weight.npy", member, crc32(member), uint32_t(member.size()));
    for (size_t n = 0; n < whole.size(); n += 3)
        EXPECT_THROW(load(whole.substr(0, n)), IoError) << n;
}

TEST_F(Npy, GoldensLoad) {
    const auto goldens = std::filesystem::path(HALYARD_SOURCE_DIR) / "tests" / "goldens";
    int files = 0, arrays = 0;
    for (const auto &entry : std::filesystem::directory_iterator(goldens)) {
        if (entry.path().extension() != ".npz") continue;
        files++;
        for (const auto &[name, t] : load_npz(entry.path().string()))
            arrays += t.defined() && t.dense();
    }
    EXPECT_GT(files, 0);
    EXPECT_GT(arrays, files);
}

}  // namespace
}  // namespace halyard
