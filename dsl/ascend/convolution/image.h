// Parts of a feature map in l1, as load3d wants them: rows of NCHW in global memory, made NC1HWC0
// by way of the Unified Buffer.
#pragma once
#include "dsl/ascend/convolution/convolution.h"

namespace halyard::ascend {

// How the lines of a result are shared out into tiles: rows of it, or pixels where filters are 1 x
// 1 and rows don't matter.
struct Lines {
    // A tile has `max_results`, or one line. Where that doesn't come out even, the last tile
    // covers lines of the one before it, unless each line has to be in one tile only.
    Lines(const Correlation &c, int64_t max_results, bool once = false);
    int64_t count, pixels;     // lines of a map, results of a line
    int64_t tile, tiles;       // lines of a tile, tiles of a map
    int64_t rows, row_pixels;  // of the image that a tile needs
    int64_t results() const { return tile * pixels; }
    dv::Expr first(const dv::Expr &line_tile) const { return min(line_tile * tile, count - tile); }
};

// Rows in global memory to rows in the Unified Buffer, `burst` blocks of each: at once where they
// begin at blocks.
struct Rows {
    dv::Ref ref;
    int64_t pitch;  // in elements
};
void rows_of_channels(Writer &w, const Rows &dst, const Rows &from, const dv::Expr &rows,
                      const dv::Expr &burst);

class Image {
public:
    Image(Writer &w, const Correlation &c, const Lines &lines, const std::string &tensor);
    void declare();  // the buffers on the way to l1, beside the loops that use them

    // blocks of channels that come together
    int64_t at_once() const { return at_once_; }
    int64_t plane() const;  // pixels of a part
    // of one block of channels in l1, in elements
    int64_t size() const { return plane() * fractal_side; }
    // `count` <= at_once() blocks of channels from `first` on, of image n and group g, to dst
    // [c1][rows][row_pixels][16]. `turn` counts those calls.
    struct Where {
        dv::Expr n, g, lines;  // lines: the tile
    };
    void arrive(const dv::Ref &dst, const dv::Expr &turn, const Where &at, const dv::Expr &first,
                const dv::Expr &count) const;
    // The load of one block of channels: all rows of img2col of a tile, columns to be filled in.
    dv::Load3d rows(const dv::Ref &dst, const dv::Ref &image, const dv::Expr &line_tile) const;

private:
    Writer &w_;
    const Correlation &c_;
    const Lines &lines_;
    const std::string tensor_;
    // of a channel's pixels, which are transposed at once; the pitch of their rows
    const int64_t pieces_, piece_, pitch_;
    const int64_t at_once_;
    dv::Ref rows_ub_, columns_ub_;
    dv::Expr first_row(const dv::Expr &line_tile) const;  // that the filters see; may be a border's
    dv::Expr begin(const dv::Expr &line_tile) const;      // of the part
    void load(const dv::Ref &dst, const dv::Expr &from, const dv::Expr &first,
              const dv::Expr &count) const;
};

}  // namespace halyard::ascend
