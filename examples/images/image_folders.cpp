#include "examples/images/image_folders.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "train/data/sources.h"
#include "train/vision/image.h"
#include "train/vision/vision.h"

namespace halyard::examples {
namespace fs = std::filesystem;
using namespace dataset;

namespace {

// Returns the next file name of a class: folder/0007.png.
std::string numbered(const fs::path &folder, int64_t number, const char *ending) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) throw IoError(folder, "can't be made: " + failed.message());
    const std::string digits = std::to_string(number);
    return (folder / (std::string(4 - std::min<size_t>(4, digits.size()), '0') + digits + ending))
        .string();
}

// Cuts out a square of at least half of the photograph's height at a random place.
Tensor random_square(const Tensor &photograph, const Random &random, uint64_t number) {
    const int64_t height = photograph.size(0), width = photograph.size(1);
    const int64_t max_side = std::min(height, width);
    const int64_t min_side = max_side / 2;
    const auto upto = [&](uint64_t which, int64_t limit) {
        return int64_t(random.below(3 * number + which, uint32_t(limit) + 1));
    };
    const int64_t side = min_side + upto(0, max_side - min_side);
    const int64_t y = upto(1, height - side);
    const int64_t x = upto(2, width - side);
    return photograph.slice(0, y, y + side).slice(1, x, x + side).contiguous();
}

}  // namespace

void write_digits(const std::string &idx, const std::string &out, int64_t size, int64_t per_class) {
    const vision::Resize resize({size, size});
    for (const char *part : {"train", "test"}) {
        std::map<int, int64_t> written;
        const MnistDataset digits((fs::path(idx) / part).string(), {.shuffle = false});
        for (const Row &row : digits.create_dict_iterator()) {
            const int label = row["label"].item<int>();
            if (per_class && written[label] == per_class) continue;
            const Tensor grey = resize(row["image"]);
            write_image(
                numbered(fs::path(out) / part / std::to_string(label), written[label]++, ".png"),
                grey.expand({size, size, 3}).contiguous());
        }
    }
}

void write_photographs(const std::string &folder, const std::string &out, int64_t size,
                       int64_t per_class, uint64_t seed) {
    const vision::Resize resize({size, size});
    uint64_t stream = 0;
    for (const char *name : {"china", "flower"}) {
        const std::string path = (fs::path(folder) / (std::string(name) + ".jpg")).string();
        const Tensor photograph = decode_image(read_bytes(path), path);
        const Random random(seed, stream++);
        for (int64_t i = 0; i < per_class + (per_class + 3) / 4; i++) {
            const bool train = i < per_class;
            const fs::path part = fs::path(out) / (train ? "train" : "test") / name;
            write_image(numbered(part, train ? i : i - per_class, ".jpg"),
                        resize(random_square(photograph, random, uint64_t(i))));
        }
    }
}

}  // namespace halyard::examples
