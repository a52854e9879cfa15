#include "dsl/ascend/convolution/image.h"

#include <algorithm>

#include "dsl/ascend/lowering/fractals.h"
#include "dsl/ascend/lowering/vector.h"
#include "registry/base/integer.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;

namespace {

constexpr int64_t max_pixels_at_once =
    1024;  // of a transposition, in five buffers of 32 B per pixel

// Returns the lines of a tile: the maximum, or fewer if tiles are equal then.
int64_t lines_of_tile(int64_t count, int64_t limit, bool once) {
    if (count <= limit) return count;
    for (int64_t t = limit; t > (once ? 0 : limit / 2); t--)
        if (count % t == 0) return t;
    return limit;
}

}  // namespace

void rows_of_channels(Writer &w, const Rows &dst, const Rows &from, const Expr &rows,
                      const Expr &burst) {
    const int64_t whole = from.pitch / fractal_side;
    if (from.pitch % fractal_side == 0) {
        return w.emit(dv::Dma{dst.ref, from.ref, rows, burst, whole - burst,
                              dst.pitch / fractal_side - burst});
    }
    w.loop("row", 0, rows, [&](const Expr &r) {
        w.emit(dv::Dma{moved(dst.ref, r * dst.pitch), moved(from.ref, r * from.pitch), 1, burst, 0,
                       0});
    });
}

Lines::Lines(const Correlation &c, int64_t max_results, bool once) {
    count = c.is_pointwise() ? c.oh * c.ow : c.oh;
    pixels = c.is_pointwise() ? 1 : c.ow;
    tile = lines_of_tile(count, std::max<int64_t>(1, max_results / pixels), once);
    // A tile of windows that are all below the image would have no rows.
    if (c.bottom > (c.u - 1) * c.dil_h) tile = count;
    tiles = ceil_div(count, tile);
    rows = c.is_pointwise() ? tile
                            : std::min(c.h, (tile - 1) * c.stride_h + (c.u - 1) * c.dil_h + 1);
    row_pixels = c.is_pointwise() ? 1 : c.w;
}

Expr Image::first_row(const Expr &line_tile) const {
    return lines_.first(line_tile) * c_.stride_h - c_.top;
}

Expr Image::begin(const Expr &line_tile) const {
    const int64_t all = c_.is_pointwise() ? lines_.count : c_.h;
    return max(0, min(first_row(line_tile), all - lines_.rows));
}

Image::Image(Writer &w, const Correlation &c, const Lines &lines, const std::string &tensor)
    : w_(w), c_(c), lines_(lines), tensor_(tensor), pieces_(ceil_div(plane(), max_pixels_at_once)),
      piece_(pieces_ > 1 ? whole_fractals(ceil_div(plane(), pieces_)) : plane()),
      pitch_(whole_fractals(piece_)),
      at_once_(c.h * c.w % fractal_side && pieces_ == 1
                   ? std::clamp<int64_t>(max_pixels_at_once / pitch_, 1, fractals_of(c.c))
                   : 1) {}

void Image::declare() {
    rows_ub_ = w_.ring("rows_ub", dv::Scope::ub, DType::f16, at_once_ * fractal_side * pitch_);
    columns_ub_ = w_.ring("columns_ub", dv::Scope::ub, DType::f16, fractal_side * pitch_);
}

// Pixels of pointwise filters are loaded in whole fractals.
int64_t Image::plane() const {
    return c_.is_pointwise() ? whole_fractals(lines_.rows) : lines_.rows * lines_.row_pixels;
}

void Image::load(const Ref &dst, const Expr &turn, const Where &at, const Expr &first,
                 const Expr &count) const {
    const int64_t channel = c_.h * c_.w;
    const Expr from = (at.n * c_.group + at.g) * (c_.c * channel) +
                      begin(at.lines) * lines_.row_pixels;
    w_.loop("piece", pieces_, [&](const Expr &p) {
        const Expr begins = min(p * piece_, plane() - piece_);
        Ref in_rows = rows_ub_;
        Ref columns = columns_ub_;
        in_rows.slot = (turn * pieces_ + p) % 2;
        load_rows(in_rows, from + begins, first, count);
        w_.loop("c", 0, count, [&](const Expr &c) {
            columns.slot = ((turn * pieces_ + p) * at_once_ + c) % 2;
            rows_to_columns(w_, columns, moved(in_rows, c * (fractal_side * pitch_)),
                            c_.c < fractal_side ? c_.c : fractal_side, pitch_);
            w_.emit(
                dv::Dma{moved(dst, c * size() + begins * fractal_side), columns, 1, piece_, 0, 0});
        });
    });
}

// Channels that don't begin at blocks are loaded one by one, but the same channel of all blocks of
// 16 together, because 16 channels are whole blocks.
void Image::load_rows(const Ref &dst, const Expr &from, const Expr &first,
                      const Expr &count) const {
    const int64_t channel = c_.h * c_.w;
    const int64_t rest = c_.c % fractal_side;
    const int64_t burst = pitch_ / fractal_side;
    const Ref gm{tensor_, from + first * (fractal_side * channel), 0, DType::f16};
    const Expr rows = c_.c < fractal_side ? Expr(rest)
                      : rest              ? min(fractal_side, c_.c - first * fractal_side)
                                          : Expr(fractal_side);
    if (rest && c_.c > fractal_side)
        Vectors(w_, {at_once_ * fractal_side * pitch_}).fill({dst, {1}}, {"", 0});
    if (at_once_ == 1) return rows_of_channels(w_, {dst, pitch_}, {gm, channel}, rows, burst);
    w_.loop("row", 0, rows, [&](const Expr &r) {
        const Expr blocks =
            rest ? min(count, (c_.c - first * fractal_side - r + (fractal_side - 1)) / fractal_side)
                 : count;
        w_.emit(dv::Dma{moved(dst, r * pitch_), moved(gm, r * channel), blocks, burst,
                        channel - burst, (fractal_side - 1) * burst});
    });
}

dv::Load3d Image::rows(const Ref &dst, const Ref &image, const Expr &line_tile) const {
    dv::Load3d l;
    l.dst = dst;
    l.c1 = 1;
    l.m_start = 0;
    l.m_extent = whole_fractals(lines_.results());
    l.kh = int(c_.u);
    l.kw = int(c_.v);
    l.stride_h = int(c_.stride_h);
    l.stride_w = int(c_.stride_w);
    l.dilation_h = int(c_.dil_h);
    l.dilation_w = int(c_.dil_w);
    if (c_.is_pointwise()) {
        l.src = image;
        l.h = 1;
        l.w = plane();
        return l;
    }
    const Expr first = first_row(line_tile);
    const Expr from = begin(line_tile);
    const Expr above = max(0, from - first);
    const Expr skipped = max(0, first - from);
    const int64_t needed = (lines_.tile - 1) * c_.stride_h + (c_.u - 1) * c_.dil_h + 1;
    l.src = moved(image, skipped * (lines_.row_pixels * fractal_side));
    l.h = lines_.rows - skipped;
    l.w = lines_.row_pixels;
    const Expr below = max(0, needed - above - l.h);
    l.pad[0] = c_.left;
    l.pad[1] = c_.right;
    l.pad[2] = above;
    l.pad[3] = below;
    return l;
}

}  // namespace halyard::ascend
