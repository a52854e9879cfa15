#include "train/vision/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <cstring>

#include <jpeglib.h>

#include "registry/base/error.h"

namespace halyard::dataset {
namespace {

// libjpeg reports errors by longjmp(). Each group of its calls is in a guard(), whose body owns no
// object.
class Reader {
public:
    Reader(const std::string &name, int64_t max_pixels) : name_(name), max_pixels_(max_pixels) {
        state_.err = jpeg_std_error(&errors_.base);
        errors_.base.error_exit = fail;
        // Warnings become errors, because libjpeg fills truncated files with grey.
        errors_.base.emit_message = [](j_common_ptr state, int level) {
            if (level < 0) fail(state);
        };
        guard([&] { jpeg_create_decompress(&state_); });
        progress_.progress_monitor = [](j_common_ptr state) {
            if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number <= most_scans) return;
            reinterpret_cast<Errors *>(state->err)->reason = "more than 100 scans";
            fail(state);
        };
        state_.progress = &progress_;
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
        const bool whole = box.height == height() && box.width == width();
        const bool cmyk = state_.num_components == 4;
        state_.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
        // Upsampling of colours reads adjacent pixels, so the part is decoded with a margin of one
        // unit and then cut.
        const int64_t unit_w = state_.max_h_samp_factor * DCTSIZE;
        const int64_t unit_h = state_.max_v_samp_factor * DCTSIZE;
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
        const int64_t channels = cmyk ? 4 : 3;
        const int64_t row_bytes = box.width * 3;
        const Tensor line = Tensor::empty({direct ? 0 : columns * channels}, DType::u8);
        uint8_t *out = image.data<uint8_t>();
        uint8_t *buffer = line.data<uint8_t>();
        const uint8_t *from = buffer + (box.left - left) * channels;
        guard([&] {
            for (int64_t y = above; y < box.top + box.height; y++) {
                JSAMPROW row = direct ? out : buffer;
                jpeg_read_scanlines(&state_, &row, 1);
                if (y < box.top) continue;
                if (cmyk)
                    mix(from, box.width, out);
                else if (!direct)
                    std::memcpy(out, from, size_t(row_bytes));
                out += row_bytes;
            }
            if (whole) jpeg_finish_decompress(&state_);
        });
        return image;
    }

private:
    struct Errors {
        jpeg_error_mgr base;  // the first member, whose address libjpeg passes to callbacks
        std::jmp_buf jump;
        const char *reason = nullptr;  // the message if libjpeg has none
    };

    [[noreturn]] static void fail(j_common_ptr state) {
        std::longjmp(reinterpret_cast<Errors *>(state->err)->jump, 1);
    }

    template<class F> void guard(const F &f) {
        if (setjmp(errors_.jump) == 0) return f();
        char text[JMSG_LENGTH_MAX];
        errors_.base.format_message(reinterpret_cast<j_common_ptr>(&state_), text);
        throw IoError(name_,
                      std::string("damaged JPEG: ") + (errors_.reason ? errors_.reason : text));
    }

    // Each block of 8 x 8 pixels has a Huffman code of at least one bit, so a header that claims
    // more pixels is refused before allocating. Arithmetic codes may be shorter, but only of nearly
    // constant images; they get the same limit.
    void check_size(int64_t bytes) {
        const int64_t pixels = height() * width();
        const std::string size = std::to_string(height()) + " x " + std::to_string(width()) +
                                 " pixels";
        if (pixels > bytes * 512 || pixels < 1) {
            throw IoError(name_,
                          "damaged JPEG: " + size + " in " + std::to_string(bytes) + " bytes");
        }
        if (pixels > max_pixels_)
            throw IoError(name_, "has " + size + ", the limit is " + std::to_string(max_pixels_));
        const int64_t needed = pixels * 3 + coefficient_bytes();
        const int64_t most = max_pixels_ * 9 / 2;
        if (needed > most) {
            throw IoError(name_, "has " + size + " in several scans, which take " +
                                     std::to_string(needed) + " bytes, the limit is " +
                                     std::to_string(most));
        }
    }

    // An image in several scans, such as a progressive one, needs memory for all coefficients of 16
    // bits.
    int64_t coefficient_bytes() {
        if (!jpeg_has_multiple_scans(&state_)) return 0;
        int64_t blocks = 0;
        for (int c = 0; c < state_.num_components; c++) {
            blocks += int64_t(state_.comp_info[c].width_in_blocks) *
                      state_.comp_info[c].height_in_blocks;
        }
        return blocks * DCTSIZE2 * int64_t(sizeof(JCOEF));
    }

    // Files of Adobe's programs contain inverted CMYK.
    void mix(const uint8_t *p, int64_t n, uint8_t *out) const {
        const int invert = state_.saw_Adobe_marker ? 0 : 255;
        for (; n > 0; n--, p += 4) {
            for (int c = 0; c < 3; c++)
                *out++ = uint8_t((p[c] ^ invert) * (p[3] ^ invert) / 255);
        }
    }

    // Each scan is a pass over the whole image, and a few dozen bytes request one. Encoders write
    // about ten.
    static constexpr int most_scans = 100;

    std::string name_;
    int64_t max_pixels_;
    Errors errors_;
    jpeg_progress_mgr progress_ = {};
    jpeg_decompress_struct state_ = {};
};

}  // namespace

Tensor decode_jpeg(const Tensor &bytes, const std::string &name, const ChooseBox &choose,
                   int64_t max_pixels) {
    Reader reader(name, max_pixels);
    reader.read_header(bytes);
    return reader.read(choose ? choose(reader.height(), reader.width())
                              : Box{0, 0, reader.height(), reader.width()});
}

}  // namespace halyard::dataset
