// Loads parts of a feature map to l1 in the layout of load3d: rows of NCHW in global memory become
// NC1HWC0 in the Unified Buffer.
#pragma once
#include "dsl/ascend/convolution/correlation.h"
#include "dsl/ascend/lowering/fractals.h"

namespace halyard::ascend {

// The division of a result into tiles of lines. A line is a row; for pointwise filters it is a
// pixel.
struct Lines {
    // A tile has at most `max_results` results, but at least one line. If the lines can't be
    // divided evenly, the last tile overlaps the one before it, unless `once` is true.
    Lines(const Correlation &c, int64_t max_results, bool once = false);
    int64_t count, pixels;     // lines of a map, results of a line
    int64_t tile, tiles;       // lines of a tile, tiles of a map
    int64_t rows, row_pixels;  // the rows of the image that a tile needs, and their pixels
    int64_t results() const { return tile * pixels; }
    dv::Expr first(const dv::Expr &line_tile) const { return min(line_tile * tile, count - tile); }
};

// Returns a position in an f16 tensor in global memory.
inline dv::Ref in_gm(const std::string &tensor, const dv::Expr &at) {
    return {tensor, at, 0, DType::f16};
}

// Rows of a tensor or a buffer.
struct Rows {
    dv::Ref ref;
    int64_t pitch;  // in elements
};
// Emits the load of `rows` rows, `burst` blocks of each, to the Unified Buffer: by one instruction
// if all rows begin at blocks of global memory.
void rows_of_channels(Writer &w, const Rows &dst, const Rows &from, const dv::Expr &rows,
                      const dv::Expr &burst);

class Image {
public:
    Image(Writer &w, const Correlation &c, const Lines &lines, const std::string &tensor);
    // Declares the buffers on the way to l1. Must be called outside of the loops that use them.
    void declare();

    // Returns the number of blocks of channels that are loaded together.
    int64_t blocks_at_once() const { return at_once_; }
    int64_t plane() const;  // pixels of a tile's part of the image
    // Returns the elements of one block of channels in l1.
    int64_t size() const { return plane() * fractal_side; }
    // The number of an image, its group, and a tile of lines.
    struct Where {
        dv::Expr n, g, lines;
    };
    // Emits the load of `count` <= blocks_at_once() blocks of channels from `first` on, to dst
    // [c1][rows][row_pixels][16]. `turn` is the number of calls before.
    void load(const dv::Ref &dst, const dv::Expr &turn, const Where &at, const dv::Expr &first,
              const dv::Expr &count) const;
    // Returns the load3d of one block of channels, for all rows of im2col of a tile. The caller
    // sets its columns.
    dv::Load3d rows(const dv::Ref &dst, const dv::Ref &image, const dv::Expr &line_tile) const;

private:
    Writer &w_;
    const Correlation &c_;
    const Lines &lines_;
    const std::string tensor_;
    // A channel's pixels are transposed in pieces_ parts of piece_ pixels, in rows of pitch_
    // elements.
    const int64_t pieces_, piece_, pitch_;
    const int64_t at_once_;
    dv::Ref rows_ub_, columns_ub_;
    dv::Expr first_row(const dv::Expr &line_tile) const;  // of the first window; may be negative
    dv::Expr begin(const dv::Expr &line_tile) const;      // the first row of the part
    void load_rows(const dv::Ref &dst, const dv::Expr &from, const dv::Expr &first,
                   const dv::Expr &count) const;
};

}  // namespace halyard::ascend
