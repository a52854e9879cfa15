// Winograd's F(2x2, 3x3) computes four outputs of a 3x3 correlation with stride 1 from 16 products
// instead of 36 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015):
// Y = A'[(G g G') * (B' d B)]A, where the products are summed over channels.
//
// It is exact for small integers. The largest terms of the 2x2 tile bound its rounding errors, not
// an output's own terms, and a NaN or an infinity reaches the whole tile.
#pragma once
#include "dsl/backend.h"

namespace halyard {

class Winograd {
public:
    // Defines the result, whose pixel (x, y) is the sum of filter(v, u) * image(x + v + shift_x,
    // y + u + shift_y) over `channels`. image(x, y, c, n) has zeros outside; filter(v, u, c, k) is
    // clamped in k. A vector has `lanes` elements.
    void define(const Halide::Func &image, const Halide::Func &filter, const Halide::Expr &shift_x,
                const Halide::Expr &shift_y, const Halide::Expr &channels, int lanes);
    Halide::Expr at(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k,
                    const Halide::Expr &n) const;
    // Schedules o, the stored Func, which is at(...), by rows of tiles, whose transforms stay in
    // L2. The filter is transformed once.
    void schedule(const Cpu &cpu, Halide::Func o) const;

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    // Returns the loop over strips of `strip` rows of tiles.
    Var schedule_output(int v, Func o, int strip) const;
    void schedule_image(int v, const Func &o, const Var &strip) const;
    void schedule_filter(int v) const;
    void schedule_product(const Cpu &cpu, const Func &o, const Var &strip) const;

    int block_ = 8;  // channels of the result whose filters are contiguous
    Func padded_{"padded"}, columns_{"columns"}, image_{"image_transform"},
        filter_columns_{"filter_columns"}, filter_{"filter_transform"};
    Func sum_{"sum"}, product_{"product"}, rows_{"rows"}, tile_{"tile"};
    Halide::RDom r_;
    Var x{"x"}, y{"y"}, c{"c"}, n{"n"}, k{"k"}, i{"i"}, j{"j"}, tx{"tx"}, ty{"ty"}, ko{"ko"},
        ki{"ki"};
};

// The same for small maps of many channels, where filters are most of the memory. They are
// transformed in L1, block by block, and each block is multiplied with all tiles of all images, so
// that transformed filters never reach memory.
class SmallMapsWinograd {
public:
    // tiles of 2 x 2 pixels in a register tile
    static inline const Tunable tiles{"tiles"};

    // run(l, k, b) is value l of block b of the filters of output channel k as they are stored: 9 *
    // `per` values of `per` input channels a block. It is clamped in k. If `rotated`, filters are
    // rotated by 180 degrees. w, h and images are extents of the result; channels is a multiple of
    // `lanes`. The rest is as in Winograd.
    void define(const Halide::Func &image, const Halide::Func &run, int per, bool rotated,
                const Halide::Expr &shift_x, const Halide::Expr &shift_y,
                const Halide::Expr &channels, const Halide::Expr &w, const Halide::Expr &h,
                const Halide::Expr &images, int lanes);
    Halide::Expr at(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k,
                    const Halide::Expr &n) const;
    // AVX-512's register tile has `default_tiles` tiles.
    void schedule(const Cpu &cpu, Halide::Func o, int default_tiles) const;

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    Var schedule_output(int v, Func o) const;
    void schedule_image(int v) const;
    void schedule_product(int v, const Func &o, const Var &block, int across) const;
    void schedule_filter(int v) const;

    // output channels whose filters are contiguous; input channels of a run
    int block_ = 8, per_ = 1;
    Halide::Expr tiles_x_, tiles_;  // of a row, and of an image
    Func run_{"run"}, padded_{"padded"}, columns_{"columns"}, image_{"image_transform"},
        bank_{"bank"}, filter_columns_{"filter_columns"};
    Func filter_{"filter_transform"}, part_{"part"}, product_{"product"}, rows_{"rows"},
        tile_{"tile"};
    Halide::RDom r_, rb_;
    Var x{"x"}, y{"y"}, c{"c"}, n{"n"}, k{"k"}, l{"l"}, b{"b"}, i{"i"}, j{"j"}, t{"t"}, ko{"ko"},
        ki{"ki"};
};

// F(3x3, 2x2), for the gradient of filters: 9 of their elements from 16 products, instead of 36, of
// a tile of 4 x 4 pixels and one of 2 x 2 of dy, summed over tiles.
class WinogradTaps {
public:
    // Defines the result, whose element (v, u, c, k) is the sum of image(x + v + shift_x, ..) *
    // dy(x, ..). image and dy have zeros outside; w and h are dy's extents.
    void define(const Halide::Func &image, const Halide::Func &dy, const Halide::Expr &shift_x,
                const Halide::Expr &shift_y, const Halide::Expr &w, const Halide::Expr &h,
                const Halide::Expr &images, int lanes);
    Halide::Expr at(const Halide::Expr &v, const Halide::Expr &u, const Halide::Expr &c,
                    const Halide::Expr &k) const;
    void schedule(const Cpu &cpu, Halide::Func o) const;

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    static constexpr int outs_ = 8;  // output channels of a register tile
    int depth_ = 8;                  // its input channels
    Func padded_{"padded"}, columns_{"columns"}, image_{"image_transform"},
        dy_columns_{"dy_columns"}, dy_{"dy_transform"};
    Func sum_{"sum"}, product_{"product"}, rows_{"rows"}, taps_{"taps"};
    Halide::RDom r_;
    Var x{"x"}, y{"y"}, c{"c"}, n{"n"}, k{"k"}, b{"b"}, i{"i"}, j{"j"}, t{"t"}, ko{"ko"};
};

}  // namespace halyard
