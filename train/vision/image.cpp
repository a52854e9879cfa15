#include "train/vision/image.h"

#include <png.h>
#include <turbojpeg.h>

#include <array>
#include <cstring>
#include <memory>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "train/data/input_file.h"
#include "train/vision/jpeg.h"

namespace halyard::dataset {
namespace {

constexpr int64_t pixel_limit = int64_t{1} << 29;  // four bytes for each fit into 2^31

using Handle = std::unique_ptr<void, int (*)(tjhandle)>;

void check_pixels(const std::string &name, int64_t height, int64_t width, int64_t most) {
    const std::string size = std::to_string(height) + " x " + std::to_string(width) + " pixels";
    if (height < 1 || width < 1) throw IoError(name, "an image of " + size + " has no bytes");
    if (height > most / width)
        throw IoError(name, "has " + size + ", the limit is " + std::to_string(most));
}

// Returns the header of a PNG, which must be its first chunk. libpng skips other chunks before it,
// whose bytes would then be read as the header.
const uint8_t *png_header(const Tensor &bytes, const std::string &name) {
    constexpr int64_t signature = 8;
    constexpr int64_t header = 25;  // length, name, 13 bytes, checksum
    const uint8_t *data = bytes.data<uint8_t>();
    if (bytes.elements() < signature + header ||
        std::memcmp(data + signature, "\0\0\0\x0dIHDR", 8) != 0)
        throw IoError(name, "damaged PNG: its first chunk isn't IHDR");
    return data + signature + 8;
}

Tensor decode_png(const Tensor &bytes, const std::string &name, int64_t max_pixels) {
    const uint8_t *header = png_header(bytes, name);
    png_image png = {};
    png.version = PNG_IMAGE_VERSION;
    const std::unique_ptr<png_image, void (*)(png_image *)> owner(&png, png_image_free);
    const auto fail = [&] { throw IoError(name, std::string("damaged PNG: ") + png.message); };
    if (!png_image_begin_read_from_memory(&png, bytes.raw(), bytes.bytes())) fail();
    const int64_t height = png.height;
    const int64_t width = png.width;
    check_pixels(name, height, width, max_pixels);
    // Deflate compresses at most 1032 bytes into one, so a header that claims more is refused
    // before allocating. It holds width, height, bits per sample and colour type, which libpng has
    // checked.
    constexpr std::array<int, 7> samples = {1, 0, 3, 1, 2, 0, 4};
    const int64_t bits = width * header[8] * samples.at(header[9]);
    if ((bits + 7) / 8 * height > bytes.elements() * 1032) {
        throw IoError(name, "damaged PNG: " + std::to_string(height) + " x " +
                                std::to_string(width) + " pixels in " +
                                std::to_string(bytes.elements()) + " bytes");
    }
    // Transparency is decoded and then dropped in place. Otherwise libpng would blend it with a
    // background.
    const bool transparent = png.format & PNG_FORMAT_FLAG_ALPHA;
    png.format = transparent ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    const Tensor read = Tensor::empty({height * width * (transparent ? 4 : 3)}, DType::u8);
    if (!png_image_finish_read(&png, nullptr, read.raw(), 0, nullptr)) fail();
    if (transparent) {
        uint8_t *pixels = read.data<uint8_t>();
        for (int64_t i = 1; i < height * width; i++)
            std::memmove(pixels + 3 * i, pixels + 4 * i, 3);
    }
    return read.slice(0, 0, height * width * 3).reshape({height, width, 3});
}

void check_image(const std::string &path, const Tensor &image) {
    if (image.dtype() != DType::u8)
        throw DTypeError(path, std::string("an image is u8, got ") + name_of(image.dtype()));
    if (image.rank() != 3 || image.size(2) != 3 || image.elements() == 0)
        throw ShapeError(path, "an image has shape [h,w,3], got " + image.shape().text());
}

}  // namespace

Tensor decode_part(const Tensor &bytes, const std::string &name, const ChooseBox &choose,
                   int64_t max_pixels) {
    if (max_pixels < 1 || max_pixels > pixel_limit) {
        throw AttrError(name, "max_pixels is " + std::to_string(max_pixels) + ", expected 1 to " +
                                  std::to_string(pixel_limit));
    }
    if (bytes.dtype() != DType::u8 || bytes.rank() != 1) {
        throw ShapeError(name, "an image file is u8[n], got " +
                                   std::string(name_of(bytes.dtype())) + bytes.shape().text());
    }
    const Tensor dense = bytes.contiguous();
    const auto *data = dense.data<uint8_t>();
    const int64_t n = dense.elements();
    if (n >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF)
        return decode_jpeg(dense, name, choose, max_pixels);
    if (n < 8 || png_sig_cmp(data, 0, 8) != 0)
        throw IoError(name, "neither JPEG nor PNG: " + std::to_string(n) + " bytes");
    const Tensor image = decode_png(dense, name, max_pixels);
    if (!choose) return image;
    const Box b = choose(image.size(0), image.size(1));
    return image.slice(0, b.top, b.top + b.height).slice(1, b.left, b.left + b.width);
}

Tensor decode_image(const Tensor &bytes, const std::string &name, int64_t max_pixels) {
    return decode_part(bytes, name, {}, max_pixels);
}

std::string encode_png(const Tensor &image, const std::string &name) {
    if (image.dtype() != DType::u8)
        throw DTypeError(name, std::string("an image is u8, got ") + name_of(image.dtype()));
    const int64_t channels = image.rank() == 3 ? image.size(2) : 0;
    if ((channels != 1 && channels != 3 && channels != 4) || image.elements() == 0) {
        throw ShapeError(name, "an image has shape [h,w,c] with c 1, 3 or 4, got " +
                                   image.shape().text());
    }
    const Tensor dense = image.contiguous();
    png_image png = {};
    png.version = PNG_IMAGE_VERSION;
    png.width = (png_uint_32)image.size(1);
    png.height = (png_uint_32)image.size(0);
    png.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
    png_alloc_size_t bytes = 0;
    if (!png_image_write_to_memory(&png, nullptr, &bytes, 0, dense.raw(), 0, nullptr))
        throw IoError(name, png.message);
    std::string data(bytes, '\0');
    if (!png_image_write_to_memory(&png, data.data(), &bytes, 0, dense.raw(), 0, nullptr))
        throw IoError(name, png.message);
    return data;
}

Tensor read_bytes(const std::string &path) {
    InputFile file(path);
    if (file.length > INT32_MAX) {
        throw IoError(path,
                      "has " + std::to_string(file.length) + " bytes, expected at most 2^31-1");
    }
    const Tensor bytes = Tensor::empty({int64_t(file.length)}, DType::u8);
    if (file.length && !file.stream.read((char *)bytes.raw(), (std::streamsize)file.length))
        throw IoError(path, "can't be read");
    return bytes;
}

void write_image(const std::string &path, const Tensor &image, int quality) {
    check_image(path, image);
    const Tensor dense = image.contiguous();
    const int height = int(image.size(0));
    const int width = int(image.size(1));
    AtomicFile file(path);
    if (path.ends_with(".png")) {
        const std::string data = encode_png(dense, path);
        file.write(data.data(), data.size());
    } else if (path.ends_with(".jpg") || path.ends_with(".jpeg")) {
        if (quality < 1 || quality > 100)
            throw AttrError(path, "quality is " + std::to_string(quality) + ", expected 1 to 100");
        const Handle handle(tjInitCompress(), tjDestroy);
        unsigned char *data = nullptr;
        unsigned long bytes = 0;
        const int failed = tjCompress2(handle.get(), dense.data<uint8_t>(), width, 0, height,
                                       TJPF_RGB, &data, &bytes, TJSAMP_444, quality, 0);
        const std::unique_ptr<unsigned char, void (*)(unsigned char *)> owner(data, tjFree);
        if (failed) throw IoError(path, tjGetErrorStr2(handle.get()));
        file.write(data, bytes);
    } else
        throw IoError(path, "ends in none of .png, .jpg and .jpeg");
    file.commit();
}

}  // namespace halyard::dataset
