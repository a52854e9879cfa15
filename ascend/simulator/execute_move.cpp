// Moves between memories. All but atomic adds to GM copy bytes.
#include <cstring>

#include "ascend/simulator/memory.h"

namespace halyard::dv {

void execute(const Dma &d, const Step &s, Memory &m) {
    const int64_t bytes = d.burst.value() * block_bytes;
    uint8_t *to = m.at(s.locations[0]);
    const uint8_t *from = m.at(s.locations[1]);
    for (int64_t i = 0; i < d.nburst.value(); i++) {
        if (!d.atomic)
            std::memcpy(to, from, size_t(bytes));
        else {
            for (int64_t k = 0; k < bytes; k += 4) {
                float sum, term;
                std::memcpy(&sum, to + k, 4);
                std::memcpy(&term, from + k, 4);
                sum += term;
                std::memcpy(to + k, &sum, 4);
            }
        }
        to += bytes + d.dst_gap.value() * block_bytes;
        from += bytes + d.src_gap.value() * block_bytes;
    }
}

void execute(const DmaPad &d, const Step &s, Memory &m) {
    const int64_t bytes = d.bytes.value();
    const int64_t padded = round_up(bytes, block_bytes);
    const bool in = s.locations[1].scope == Scope::gm;
    for (int64_t i = 0; i < d.nburst.value(); i++) {
        const int64_t gm = i * (bytes + (in ? d.src_gap : d.dst_gap).value());
        const int64_t ub = i * (padded + (in ? d.dst_gap : d.src_gap).value() * block_bytes);
        uint8_t *to = m.at(s.locations[0]) + (in ? ub : gm);
        std::memcpy(to, m.at(s.locations[1]) + (in ? gm : ub), size_t(bytes));
        if (in) std::memset(to + bytes, 0, size_t(padded - bytes));
    }
}

void execute(const Nd2Nz &d, const Step &s, Memory &m) {
    const int64_t row = d.columns.value() * int64_t(bytes_of(s.locations[1].dtype));
    const int64_t pitch = d.pitch.value() * int64_t(bytes_of(s.locations[1].dtype));
    const int64_t column = d.rows_padded.value() *
                           block_bytes;  // bytes from column to column of blocks
    for (int64_t r = 0; r < d.rows.value(); r++) {
        for (int64_t b = 0; b < row; b += block_bytes) {
            uint8_t *to = m.at(s.locations[0]) + b / block_bytes * column + r * block_bytes;
            const int64_t bytes = std::min<int64_t>(block_bytes, row - b);
            std::memcpy(to, m.at(s.locations[1]) + r * pitch + b, size_t(bytes));
            std::memset(to + bytes, 0, size_t(block_bytes - bytes));
        }
    }
}

void execute(const Load2d &l, const Step &s, Memory &m) {
    for (int64_t i = 0; i < l.repeat.value(); i++) {
        const uint8_t *from = m.at(s.locations[1]) + i * l.src_stride.value() * fractal_bytes;
        uint8_t *to = m.at(s.locations[0]) + i * (1 + l.dst_gap.value()) * fractal_bytes;
        if (!l.transpose) {
            std::memcpy(to, from, fractal_bytes);
            continue;
        }
        for (int r = 0; r < cube; r++) {
            for (int c = 0; c < cube; c++)
                std::memcpy(to + (c * cube + r) * 2, from + (r * cube + c) * 2, 2);
        }
    }
}

void execute(const Load3d &l, const Step &s, Memory &m) {
    const int element = int(bytes_of(s.locations[1].dtype));
    const int unit = block_bytes / element;
    const int64_t h = l.h.value();
    const int64_t w = l.w.value();
    const int64_t left = l.pad[0].value();
    const int64_t top = l.pad[2].value();
    const int64_t wo = (w + left + l.pad[1].value() - l.dilation_w * (l.kw - 1) - 1) / l.stride_w +
                       1;
    const int64_t ho = (h + top + l.pad[3].value() - l.dilation_h * (l.kh - 1) - 1) / l.stride_h +
                       1;
    uint8_t border[block_bytes];
    visit_dtype(s.locations[1].dtype, [&](auto t) {
        using T = decltype(t);
        const T v = T(float(l.pad_value));
        for (int i = 0; i + int(sizeof v) <= block_bytes; i += int(sizeof v))
            std::memcpy(border + i, &v, sizeof v);
    });
    const int64_t k1 = l.k_extent.value() / unit;
    const uint8_t *image = m.at(s.locations[1]);
    uint8_t *out = m.at(s.locations[0]);
    for (int64_t i = 0; i < l.m_extent.value(); i++) {
        for (int64_t k = 0; k < k1; k++) {
            // column = (c1, kh, kw)
            const int64_t row = l.m_start.value() + i;
            const int64_t column = l.k_start.value() / unit + k;
            const int64_t c = column / (l.kh * l.kw);
            const int64_t y = row / wo * l.stride_h - top + column / l.kw % l.kh * l.dilation_h;
            const int64_t x = row % wo * l.stride_w - left + column % l.kw * l.dilation_w;
            const bool inside = row < ho * wo && c < l.c1.value() && y >= 0 && y < h && x >= 0 &&
                                x < w;
            uint8_t *to = out + ((i / cube * k1 + k) * cube + i % cube) * block_bytes;
            std::memcpy(to, inside ? image + ((c * h + y) * w + x) * block_bytes : border,
                        block_bytes);
        }
    }
}

}  // namespace halyard::dv
