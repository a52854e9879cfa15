#include "train/formats/idx.h"

#include <cstdio>

#include "registry/base/error.h"
#include "train/data/input_file.h"

namespace halyard::dataset {
namespace {

std::string hex(uint32_t v) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", v);
    return text;
}

}  // namespace

Tensor read_idx(const std::string &path, int rank) {
    InputFile input(path);
    std::ifstream &file = input.stream;
    const uint64_t length = input.length;

    const auto word = [&](const std::string &field) {
        unsigned char b[4];
        if (!file.read(reinterpret_cast<char *>(b), 4)) {
            throw IoError(path, field + " is missing: the file has " + std::to_string(length) +
                                    " bytes, its header " + std::to_string(4 + 4 * rank));
        }
        return uint32_t(b[0]) << 24 | uint32_t(b[1]) << 16 | uint32_t(b[2]) << 8 | b[3];
    };
    const uint32_t magic = word("magic number");
    const uint32_t expected = 0x800u + uint32_t(rank);
    if (magic != expected) {
        throw IoError(path, "magic number is " + hex(magic) + ", expected " + hex(expected) +
                                " (bytes, rank " + std::to_string(rank) + ")");
    }

    const uint64_t header = 4 + 4 * uint64_t(rank);
    constexpr uint64_t limit = (1ull << 31) - 1;
    // The product of the extents that are not 0. It stops growing beyond the limit, where a 32-bit
    // extent can't overflow it.
    uint64_t product = 1;
    Shape shape;
    for (int d = 0; d < rank; d++) {
        const uint64_t extent = word("extent " + std::to_string(d));
        shape.push_back(int64_t(extent));
        if (extent && product <= limit) product *= extent;
    }
    if (product > limit) {
        throw IoError(path, "extents " + shape.text() + " make more than " + std::to_string(limit) +
                                " bytes");
    }
    const uint64_t elements = uint64_t(shape.elements());
    if (length != header + elements) {
        throw IoError(path, "extents " + shape.text() + " make " + std::to_string(elements) +
                                " bytes, but " + std::to_string(length - header) +
                                " follow the header");
    }
    const Tensor t = Tensor::empty(shape, DType::u8);
    if (elements && !file.read(static_cast<char *>(t.raw()), (std::streamsize)elements))
        throw IoError(path, "reading " + std::to_string(elements) + " bytes failed");
    return t;
}

ImagesAndLabels read_idx_pair(const std::string &images_path, const std::string &labels_path) {
    ImagesAndLabels r{read_idx(images_path, 3), read_idx(labels_path, 1)};
    if (r.images.size(0) != r.labels.size(0)) {
        throw IoError(labels_path, "number of labels is " + std::to_string(r.labels.size(0)) +
                                       ", expected " + std::to_string(r.images.size(0)) +
                                       " as in " + images_path);
    }
    return r;
}

}  // namespace halyard::dataset
