#include "train/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <cstring>

#include <jpeglib.h>

#include "registry/error.h"

namespace halyard::dataset {
namespace {

// libjpeg reports by a jump: each group of its calls stands in guard(), whose body owns nothing.
class Reader {
public:
    explicit Reader(const std::string &name) : name_(name) {
        state_.err = jpeg_std_error(&errors_.base);
        errors_.base.error_exit = fail;
        // Warnings are errors: a truncated file is filled up with grey otherwise.
        errors_.base.emit_message = [](j_common_ptr state, int level) {
            if (level < 0) fail(state);
        };
        guard([&] { jpeg_create_decompress(&state_); });
    }
    ~Reader() { jpeg_destroy_decompress(&state_); }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    void read_header(const Tensor &bytes) {
        guard([&] {
            jpeg_mem_src(&state_, bytes.data<uint8_t>(), (unsigned long)bytes.elements());
            jpeg_read_header(&state_, TRUE);
        });
        check_size(bytes.elements());
    }

    int64_t height() const { return state_.image_height; }
    int64_t width() const { return state_.image_width; }

    Tensor read(const Box &box) {
        const bool whole = box.height == height() && box.width == width(), cmyk = state_.num_components == 4;
        state_.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
        // The upsampling of colours looks at the next pixels: the part is read with a margin of a whole unit, and then cut.
        const int64_t unit_w = state_.max_h_samp_factor * DCTSIZE, unit_h = state_.max_v_samp_factor * DCTSIZE;
        const int64_t above = std::max<int64_t>(box.top - unit_h, 0);
        auto left = (JDIMENSION)std::max<int64_t>(box.left - unit_w, 0);
        auto columns = (JDIMENSION)std::min(box.left + box.width + unit_w, width()) - left;
        guard([&] {
            jpeg_start_decompress(&state_);
            if (whole) return;
            jpeg_crop_scanline(&state_, &left, &columns);
            jpeg_skip_scanlines(&state_, (JDIMENSION)above);
        });
        const Tensor image = Tensor::empty({box.height, box.width, 3}, DType::u8);
        const bool direct = whole && !cmyk;
        const int64_t channels = cmyk ? 4 : 3, row_bytes = box.width * 3;
        const Tensor line = Tensor::empty({direct ? 0 : columns * channels}, DType::u8);
        uint8_t *out = image.data<uint8_t>(), *buffer = line.data<uint8_t>();
        const uint8_t *from = buffer + (box.left - left) * channels;
        guard([&] {
            for (int64_t y = above; y < box.top + box.height; y++) {
                JSAMPROW row = direct ? out : buffer;
                jpeg_read_scanlines(&state_, &row, 1);
                if (y < box.top) continue;
                if (cmyk) mix(from, box.width, out);
                else if (!direct) std::memcpy(out, from, (size_t)row_bytes);
                out += row_bytes;
            }
            if (whole) jpeg_finish_decompress(&state_);
        });
        return image;
    }

private:
    struct Errors {
        jpeg_error_mgr base;  // first: libjpeg hands out its address
        std::jmp_buf jump;
    };

    [[noreturn]] static void fail(j_common_ptr state) { std::longjmp(reinterpret_cast<Errors *>(state->err)->jump, 1); }

    template<class F> void guard(const F &f) {
        if (setjmp(errors_.jump) == 0) return f();
        char text[JMSG_LENGTH_MAX];
        errors_.base.format_message(reinterpret_cast<j_common_ptr>(&state_), text);
        throw IoError(name_, std::string("damaged JPEG: ") + text);
    }

    // A Huffman code has at least one bit, and each block of 8 x 8 pixels one code: a header that lies makes nobody allocate.
    void check_size(int64_t bytes) const {
        const int64_t most = state_.arith_code ? INT32_MAX / 3 : std::min<int64_t>(bytes * 512, INT32_MAX / 3);
        if (height() * width() > most || height() < 1 || width() < 1)
            throw IoError(name_,
                          "damaged JPEG: " + std::to_string(height()) + " x " + std::to_string(width()) + " pixels in " + std::to_string(bytes) + " bytes");
    }

    // Adobe's programs write inverted CMYK.
    void mix(const uint8_t *p, int64_t n, uint8_t *out) const {
        const int invert = state_.saw_Adobe_marker ? 0 : 255;
        for (; n > 0; n--, p += 4)
            for (int c = 0; c < 3; c++) *out++ = (uint8_t)((p[c] ^ invert) * (p[3] ^ invert) / 255);
    }

    std::string name_;
    Errors errors_;
    jpeg_decompress_struct state_ = {};
};

}  // namespace

Tensor decode_jpeg(const Tensor &bytes, const std::string &name, const ChooseBox &choose) {
    Reader reader(name);
    reader.read_header(bytes);
    return reader.read(choose ? choose(reader.height(), reader.width()) : Box{0, 0, reader.height(), reader.width()});
}

}  // namespace halyard::dataset
