#include "train/vision/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "registry/base/error.h"

namespace halyard::dataset {
namespace {

// The two source pixels of a destination pixel, and their weights in 1/2048.
struct Tap {
    int64_t a, b;
    int32_t wa, wb;
};

// With whole_at_edges, as for rows, the first and last destination pixels take one source pixel
// with the whole weight. Without, as for columns, both taps are the edge pixel and their products
// are rounded separately. This is OpenCV's arithmetic, which MindSpore calls.
std::vector<Tap> taps(int64_t from, int64_t to, bool whole_at_edges) {
    std::vector<Tap> out(static_cast<size_t>(to));
    const double scale = double(from) / double(to);
    for (int64_t i = 0; i < to; i++) {
        const auto place = float((double(i) + 0.5) * scale - 0.5);
        const auto k = int64_t(std::floor(place));
        const float f = whole_at_edges && (k < 0 || k >= from - 1) ? 0 : place - float(k);
        out[size_t(i)] = {std::clamp<int64_t>(k, 0, from - 1),
                          std::clamp<int64_t>(k + 1, 0, from - 1),
                          int32_t(std::lrint((1 - f) * 2048)), int32_t(std::lrint(f * 2048))};
    }
    return out;
}

constexpr int64_t beyond = 8;  // the number of elements that may be written after a row's end

// Resizes a row of the source to the new width, in 1/128 of a grey level.
void resize_row(const uint8_t *p, int64_t c, const std::vector<Tap> &across,
                [[maybe_unused]] int64_t width, int16_t *to) {
    size_t i = 0;
#ifdef __SSE2__
    // Four bytes are read at each tap. With three channels every pixel but the last has a fourth
    // byte.
    if (c == 3) {
        const auto load = [&](int64_t pixel) {
            int32_t bytes;
            std::memcpy(&bytes, p + pixel * 3, 4);
            return _mm_cvtsi32_si128(bytes);
        };
        for (; i < across.size() && across[i].b < width - 1; i++, to += 3) {
            const Tap &t = across[i];
            const __m128i pairs = _mm_unpacklo_epi8(_mm_unpacklo_epi8(load(t.a), load(t.b)),
                                                    _mm_setzero_si128());
            const __m128i sums = _mm_srai_epi32(
                _mm_madd_epi16(pairs, _mm_set1_epi32(t.wb << 16 | t.wa)), 4);
            _mm_storel_epi64(reinterpret_cast<__m128i *>(to), _mm_packs_epi32(sums, sums));
        }
    }
#endif
    for (; i < across.size(); i++) {
        const Tap &t = across[i];
        for (int64_t k = 0; k < c; k++)
            *to++ = int16_t((p[t.a * c + k] * t.wa + p[t.b * c + k] * t.wb) >> 4);
    }
}

// Interpolates two rows with the truncations of a 16-bit multiplication unit.
void mix_rows(const int16_t *a, const int16_t *b, const Tap &t, int64_t n, uint8_t *q) {
    int64_t i = 0;
#ifdef __SSE2__
    const __m128i wa = _mm_set1_epi16(int16_t(t.wa)), wb = _mm_set1_epi16(int16_t(t.wb)),
                  two = _mm_set1_epi16(2);
    const auto mix = [&](int64_t at) {
        const auto load = [&](const int16_t *p) {
            return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + at));
        };
        const __m128i v = _mm_add_epi16(_mm_mulhi_epi16(load(a), wa), _mm_mulhi_epi16(load(b), wb));
        return _mm_srai_epi16(_mm_add_epi16(v, two), 2);
    };
    for (; i + 16 <= n; i += 16)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(q + i), _mm_packus_epi16(mix(i), mix(i + 8)));
#endif
    for (; i < n; i++)
        q[i] = uint8_t(std::clamp(((t.wa * a[i] >> 16) + (t.wb * b[i] >> 16) + 2) >> 2, 0, 255));
}

}  // namespace

// Resizes each source row with weights of 11 fractional bits, then interpolates between rows. Only
// rows that a row of the result needs are computed.
Tensor resize_linear(const Tensor &in, int64_t height, int64_t width) {
    if (in.dtype() != DType::u8) {
        throw DTypeError("Resize",
                         std::string("image is ") + name_of(in.dtype()) + ", LINEAR takes u8");
    }
    const Tensor image = in.contiguous();
    const Tensor out = Tensor::empty({height, width, in.size(2)}, DType::u8);
    const int64_t h = image.size(0), w = image.size(1), c = image.size(2);
    const int64_t n = width * c;
    const std::vector<Tap> across = taps(w, width, true);
    const std::vector<Tap> down = taps(h, height, false);
    std::vector<int16_t> rows(static_cast<size_t>(2 * (n + beyond)));
    int64_t cached[2] = {-1, -1};  // the source rows in memory; the index is the row's last bit
    const auto row = [&](int64_t y) {
        int16_t *to = rows.data() + y % 2 * (n + beyond);
        if (std::exchange(cached[y % 2], y) != y)
            resize_row(image.data<uint8_t>() + y * w * c, c, across, w, to);
        return to;
    };
    uint8_t *q = out.data<uint8_t>();
    for (const Tap &t : down) {
        const int16_t *a = row(t.a);
        const int16_t *b = row(t.b);
        mix_rows(a, b, t, n, q);
        q += n;
    }
    return out;
}

}  // namespace halyard::dataset
