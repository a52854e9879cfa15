// Images in files: JPEG by libjpeg-turbo, PNG by libpng.
#pragma once
#include <string>

#include "registry/tensor/tensor.h"
#include "train/vision/box.h"

namespace halyard::dataset {

// The most pixels of an image: a file of some kilobytes can say that it has gigabytes of them.
// While one is decoded, 4.5 bytes for each of these are taken at most; a progressive JPEG needs two
// to six more than its three bytes per pixel.
constexpr int64_t default_max_pixels = int64_t{1} << 26;

// u8[h,w,3], red first, of the file's bytes u8[n]. Grey images get three equal channels,
// transparency is dropped, 16 bits per channel become
// 8. Throws IoError, with `name` (a path, or what else the bytes are called): neither format,
// damaged or truncated, of more pixels than `max_pixels`, or than the file can hold: a header that
// lies makes nobody allocate. AttrError for a `max_pixels` outside of 1 to 2^29.
Tensor decode_image(const Tensor &bytes, const std::string &name,
                    int64_t max_pixels = default_max_pixels);

// The part of the image that `choose` names for the image's size, which must lie within it. Of a
// JPEG only that part is decoded, and what lies behind it isn't looked at.
Tensor decode_part(const Tensor &bytes, const std::string &name, const ChooseBox &choose,
                   int64_t max_pixels = default_max_pixels);

// The bytes of a PNG file. `image`: u8[h,w,c], c of 1 (grey), 3 or 4 (with transparency). Throws
// ShapeError, DTypeError with `name`.
std::string encode_png(const Tensor &image, const std::string &name);

Tensor read_bytes(const std::string &path);  // a file as u8[n]; throws IoError

// PNG, or JPEG of that quality (1 to 100), by the path's ending .png, .jpg or .jpeg. `image`:
// u8[h,w,3]. Throws IoError, ShapeError, DTypeError.
void write_image(const std::string &path, const Tensor &image, int quality = 90);

namespace vision {

// For Dataset::map: the bytes of an image file to u8[h,w,3].
struct Decode {
    int64_t max_pixels = default_max_pixels;
    Tensor operator()(const Tensor &bytes) const {
        return decode_image(bytes, "Decode", max_pixels);
    }
};

}  // namespace vision
}  // namespace halyard::dataset
