// Cuts files at every byte and changes them at random. A loader returns or throws an error of the
// kit, and allocates nothing because of a corrupt size; sanitizers find other faults. HALYARD_FUZZ
// is how often each format is changed (`make fuzz`: a million). A file that caused a sanitizer's
// report is left as fuzz.bin.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "tests/train/files.h"
#include "tests/train/memory_file.h"
#include "train/checkpoint/mindspore_ckpt.h"
#include "train/checkpoint/safetensors.h"
#include "train/data/sources.h"
#include "train/formats/crc32c.h"
#include "train/formats/idx.h"
#include "train/formats/tfrecord.h"
#include "train/formats/web_dataset.h"
#include "train/vision/augment.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>

extern "C" {  // From sanitizer/allocator_interface.h, which GCC doesn't ship.
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);
}
#endif

namespace halyard::dataset {
namespace {
namespace fs = std::filesystem;

// The file being read. It is never destroyed, because a leak is reported after that.
std::string &current = *new std::string;

// Measures the peak of allocated memory above its initial value; it is 0 without a sanitizer.
struct Heap {
    static inline int64_t now = 0, peak = 0;
#ifdef __SANITIZE_ADDRESS__
    static void install() {
        static const int installed = __sanitizer_install_malloc_and_free_hooks(
            [](const volatile void *, size_t n) { peak = std::max(peak, now += int64_t(n)); },
            [](const volatile void *p) {
                if (p) now -= int64_t(__sanitizer_get_allocated_size(p));
            });
        ASSERT_GT(installed, 0);
        __sanitizer_set_death_callback(
            [] { std::ofstream("fuzz.bin", std::ios::binary) << current; });
    }
#else
    static void install() {}
#endif
};

int64_t count_rows(const Dataset &d) {
    const auto source = d.node()->open({});
    int64_t n = 0;
    for (Row row; source->next(row);)
        n++;
    return n;
}

struct Format {
    std::string name;
    std::vector<std::string> seeds;
    std::function<void(const std::string &path)> load;
    // The memory that a file may take, in bytes for each of its own.
    int64_t memory = 2;
    // Corrects checksums, so that the bytes under them are read.
    std::function<void(std::string &)> repair = [](std::string &) {};
    // Rearranges parts of the file, or of another one.
    std::function<std::string(const std::string &, const std::string &, std::mt19937_64 &)>
        rearranged = {};
};

void put32(std::string &s, size_t at, uint32_t v) {
    std::memcpy(&s[at], &v, 4);
}

void repair_records(std::string &s) {
    const auto sum = [&](size_t at, size_t n) { put32(s, at + n, masked_crc32c({&s[at], n})); };
    for (size_t at = 0; at + 16 <= s.size();) {
        uint64_t n;
        std::memcpy(&n, &s[at], 8);
        sum(at, 8);
        if (n > s.size() - at - 16) return;
        sum(at + 12, n);
        at += 16 + n;
    }
}

void repair_png(std::string &s) {
    for (size_t at = 8; at + 12 <= s.size();) {
        const auto *p = reinterpret_cast<const unsigned char *>(&s[at]);
        const size_t n = size_t(p[0]) << 24 | size_t(p[1]) << 16 | size_t(p[2]) << 8 | p[3];
        if (n > s.size() - at - 12) return;
        put32(s, at + 8 + n, __builtin_bswap32(uint32_t(crc32(0, p + 4, (uInt)(n + 4)))));
        at += 12 + n;
    }
}

// Returns the chunks of a PNG, behind its signature.
std::vector<std::string> chunks_of(const std::string &s) {
    std::vector<std::string> chunks;
    for (size_t at = 8; at + 12 <= s.size(); at += chunks.back().size()) {
        const auto *p = reinterpret_cast<const unsigned char *>(&s[at]);
        chunks.push_back(s.substr(
            at, 12 + (size_t(p[0]) << 24 | size_t(p[1]) << 16 | size_t(p[2]) << 8 | p[3])));
    }
    return chunks;
}

// Swaps, doubles or drops one to four chunks, takes them from the other file, or adds new ones with
// unknown names. Each chunk is valid in itself.
std::string rearranged_png(const std::string &s, const std::string &other,
                           std::mt19937_64 &random) {
    std::vector<std::string> chunks = chunks_of(s);
    const std::vector<std::string> others = chunks_of(other);
    const auto below = [&](size_t n) { return size_t(random() % n); };
    const auto insert = [&](const std::string &chunk) {
        chunks.insert(chunks.begin() + (std::ptrdiff_t)below(chunks.size() + 1), chunk);
    };
    for (size_t k = 1 + below(4); k > 0 && !chunks.empty(); k--) {
        switch (below(5)) {
        case 0: std::swap(chunks[below(chunks.size())], chunks[below(chunks.size())]); break;
        case 1: insert(std::string(chunks[below(chunks.size())])); break;
        case 2: chunks.erase(chunks.begin() + (std::ptrdiff_t)below(chunks.size())); break;
        case 3: insert(others[below(others.size())]); break;
        default: {
            const char *names[] = {"abCd", "tEXt", "gAMA", "sBIT", "tRNS",
                                   "PLTE", "IHDR", "iCCP", "bKGD"};
            std::string content(below(40), '\0');
            for (char &c : content)
                c = char(random());
            insert(std::string(3, '\0') + char(content.size()) + names[below(std::size(names))] +
                   content + std::string(4, '\0'));
        }
        }
    }
    std::string all = s.substr(0, 8);
    for (const std::string &chunk : chunks)
        all += chunk;
    repair_png(all);
    return all;
}

void repair_tar(std::string &s) {
    for (size_t at = 0; at + 512 <= s.size(); at += 512) {
        if (s.compare(at + 257, 5, "ustar") != 0) continue;
        std::fill_n(s.begin() + (std::ptrdiff_t)at + 148, 8, ' ');
        unsigned sum = 0;
        for (size_t i = 0; i < 512; i++)
            sum += (unsigned char)s[at + i];
        std::snprintf(&s[at + 148], 8, "%06o", sum);
    }
}

// The checksum is the last field of the file: ten bytes, most significant first.
void repair_ckpt(std::string &s) {
    if (s.size() < 17 || s.compare(s.size() - 17, 7, "crc_num") != 0) return;
    put32(s, s.size() - 4,
          __builtin_bswap32(uint32_t(
              crc32(0, reinterpret_cast<const Bytef *>(s.data()), (uInt)(s.size() - 17)))));
}

std::string golden(const std::string &name) {
    return bytes_in(goldens + name);
}

std::string gzip(const std::string &text) {
    std::string packed(4096, '\0');
    z_stream z = {};
    deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
    z.next_in = (Bytef *)text.data();
    z.avail_in = (uInt)text.size();
    z.next_out = (Bytef *)packed.data();
    z.avail_out = (uInt)packed.size();
    deflate(&z, Z_FINISH);
    packed.resize(z.total_out);
    deflateEnd(&z);
    return packed;
}

std::vector<Format> image_formats() {
    std::string idx("\0\0\10\3\0\0\0\3\0\0\0\4\0\0\0\5", 16);
    idx += std::string(60, 'x');
    const auto image = [](const std::string &path) { decode_image(read_bytes(path), "image"); };
    return {
        {"idx", {idx}, [](const std::string &path) { read_idx(path, 3); }},
        {"cifar10",
         {std::string(3073, 'a'), std::string(2 * 3073, 'b')},
         [](const std::string &path) {
             const fs::path dir = fs::path(testing::TempDir()) / "fuzz_cifar";
             fs::create_directories(dir);
             if (!fs::is_symlink(dir / "test_batch.bin"))
                 fs::create_symlink(path, dir / "test_batch.bin");
             Cifar10Dataset(dir, {.usage = "test"});
         },
         4},
        {"jpeg",
         {golden("jpeg_420.jpg"), golden("jpeg_444.jpg"), golden("jpeg_grey.jpg"),
          golden("jpeg_progressive.jpg"), golden("jpeg_cmyk.jpg")},
         image,
         8 * 512},
        {"jpeg_part",
         {golden("jpeg_420.jpg"), golden("jpeg_440.jpg"), golden("jpeg_progressive.jpg")},
         [](const std::string &path) {
             const Tensor bytes = read_bytes(path);
             Draw draw(Random(1, 0), uint64_t(bytes.elements()));
             vision::RandomCropDecodeResize(8)(bytes, draw);
         },
         8 * 512},
        {"png",
         {golden("png_grey.png"), golden("png_rgba.png"), golden("png_palette.png")},
         image,
         10 * 8 * 1032,
         repair_png,
         rearranged_png},
    };
}

std::vector<Format> record_formats() {
    const std::string tar = golden("records.tar").substr(0, 6144);
    const auto web = [](const std::string &path) {
        count_rows(WebDataset({path}, {"jpg;png", "cls", "__key__"}));
    };
    return {
        {"tar", {tar}, web, 8, repair_tar},
        {"tar.gz", {gzip(tar)}, web, 1032},
        {"tfrecord",
         {golden("records.tfrecord")},
         [](const std::string &path) { count_rows(TFRecordDataset({path})); },
         64,
         repair_records},
    };
}

std::vector<Format> tensor_formats() {
    const std::string npy = testing::TempDir() + "fuzz.npy";
    save_npy(npy, Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}));
    return {
        {"safetensors",
         {golden("checkpoint.safetensors")},
         [](const std::string &path) { load_safetensors(path); },
         8},
        {"ckpt",
         {golden("checkpoint.ckpt")},
         [](const std::string &path) { load_mindspore_ckpt(path); },
         8,
         repair_ckpt},
        {"npy", {bytes_in(npy)}, [](const std::string &path) { load_npy(path); }},
        {"npz", {golden("records.npz")}, [](const std::string &path) { load_npz(path); }, 4},
    };
}

std::vector<Format> formats() {
    std::vector<Format> all;
    for (const auto &some : {image_formats(), record_formats(), tensor_formats()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

// Applies one to four changes of the kinds that find faults: bytes, integers of either byte order,
// pieces that are moved, doubled, removed or cut off.
std::string changed(std::string s, const std::string &other, std::mt19937_64 &random) {
    const auto below = [&](size_t n) { return n ? size_t(random() % n) : 0; };
    for (size_t k = 1 + below(4); k > 0 && !s.empty(); k--) {
        const size_t at = below(s.size());
        const size_t length = std::min(1 + below(16), s.size() - at);
        constexpr uint64_t numbers[] = {0,
                                        1,
                                        0x7f,
                                        0x80,
                                        0xff,
                                        0x7fff,
                                        0xffff,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        0x7fffffffffffffff,
                                        ~0ull};
        switch (below(9)) {
        case 0: s[at] = char(random()); break;
        case 1: s[at] = char(s[at] ^ 1 << below(8)); break;
        case 2: s[at] = char(s[at] + (below(2) ? 1 : -1)); break;
        case 3: s.erase(at, length); break;
        case 4: s.insert(at, s.substr(below(s.size()), length)); break;
        case 5: s.replace(at, length, other.substr(below(other.size()), length)); break;
        case 6: s.resize(at); break;
        default: {
            uint64_t v = numbers[below(std::size(numbers))];
            const size_t bytes = std::min<size_t>(size_t{1} << below(4), s.size() - at);
            if (below(2)) v = __builtin_bswap64(v) >> (64 - 8 * bytes);
            std::memcpy(&s[at], &v, bytes);
        }
        }
    }
    return s;
}

struct LoaderFuzz : testing::TestWithParam<Format> {
    static int64_t times() {
        const char *n = std::getenv("HALYARD_FUZZ");
        return n ? std::atoll(n) : 300;
    }
    // Returns true if the file was rejected.
    bool read(const std::string &bytes) {
        file.put(bytes);
        current = bytes;
        Heap::peak = Heap::now;
        const int64_t before = Heap::now;
        bool rejected = false;
        try {
            GetParam().load(file.path());
        } catch (const Error &) {
            rejected = true;
        }
        // Streams, zlib's window and messages take this. libarchive accepts a name's length up to a
        // megabyte, and doubles its buffer to that; libzip accepts a number of entries up to 65535.
        const bool archive = GetParam().name.starts_with("tar") || GetParam().name == "npz";
        const int64_t overhead = archive ? 4 << 20 : 512 << 10;
        EXPECT_LE(Heap::peak - before, GetParam().memory * int64_t(bytes.size()) + overhead);
        return rejected;
    }
    const MemoryFile file;
};

TEST_P(LoaderFuzz, ThrowsOnlyTheKitsErrors) {
    Heap::install();
    const Format &format = GetParam();
    for (const std::string &seed : format.seeds) {
        for (size_t n = 0; n <= seed.size(); n++)
            read(seed.substr(0, n));
    }
    int64_t rejected = 0;
    for (int64_t i = 0; i < times() && !HasFailure(); i++) {
        std::mt19937_64 random(static_cast<uint64_t>(i));
        const std::string &seed = format.seeds[random() % format.seeds.size()];
        const std::string &other = format.seeds[random() % format.seeds.size()];
        std::string bytes = format.rearranged && random() % 2
                                ? format.rearranged(seed, other, random)
                                : changed(seed, other, random);
        if (random() % 2) format.repair(bytes);
        rejected += read(bytes);
        if (HasFailure()) std::ofstream("fuzz.bin", std::ios::binary) << bytes;
    }
    RecordProperty("changed", std::to_string(times()));
    RecordProperty("refused", std::to_string(rejected));
    if (std::getenv("HALYARD_FUZZ")) {
        std::printf("%s: %ld changed, %ld refused\n", format.name.c_str(), long(times()),
                    long(rejected));
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, LoaderFuzz, testing::ValuesIn(formats()), [](const auto &p) {
    std::string name = p.param.name;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
});

}  // namespace
}  // namespace halyard::dataset
