// Reads and writes image files: JPEG by libjpeg-turbo, PNG by libpng.
#pragma once
#include <string>

#include "registry/tensor/tensor.h"
#include "train/vision/box.h"

namespace halyard::dataset {

// The default limit of an image's pixels, because a small file can claim gigabytes of them.
// Decoding takes at most 4.5 bytes per pixel; a progressive JPEG needs two to six bytes per pixel
// in addition.
constexpr int64_t default_max_pixels = int64_t{1} << 26;

// Decodes a file's bytes u8[n] to u8[h,w,3], red first. Grey images get three equal channels,
// transparency is dropped, 16 bits per channel become 8. Throws IoError with `name`, usually the
// path, if the format is unknown, the file is damaged or truncated, or its header claims more
// pixels than max_pixels or than the file can hold. Throws AttrError for a max_pixels outside 1 to
// 2^29.
Tensor decode_image(const Tensor &bytes, const std::string &name,
                    int64_t max_pixels = default_max_pixels);

// Decodes the rectangle that `choose` returns for the image's size. It must lie within the image.
// Only that part of a JPEG is decoded; bytes after it are not read.
Tensor decode_part(const Tensor &bytes, const std::string &name, const ChooseBox &choose,
                   int64_t max_pixels = default_max_pixels);

// Returns the bytes of a PNG file. `image` is u8[h,w,c] with c = 1 (grey), 3 or 4 (with
// transparency). Throws ShapeError, DTypeError with `name`.
std::string encode_png(const Tensor &image, const std::string &name);

// Reads a file as u8[n]. Throws IoError.
Tensor read_bytes(const std::string &path);

// Writes u8[h,w,3] as PNG, or as JPEG of that quality (1 to 100), by the path's ending: .png, .jpg
// or .jpeg. Throws IoError, ShapeError, DTypeError.
void write_image(const std::string &path, const Tensor &image, int quality = 90);

namespace vision {

// Decodes the bytes of an image file to u8[h,w,3], in Dataset::map.
struct Decode {
    int64_t max_pixels = default_max_pixels;
    Tensor operator()(const Tensor &bytes) const {
        return decode_image(bytes, "Decode", max_pixels);
    }
};

}  // namespace vision
}  // namespace halyard::dataset
