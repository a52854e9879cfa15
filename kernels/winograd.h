// Winograd's F(2x2, 3x3): four outputs of a 3x3 correlation with stride 1 from 16 products instead of 36 (Lavin and Gray,
// "Fast Algorithms for Convolutional Neural Networks", 2015): Y = A'[(G g G') * (B' d B)]A, summed over channels between.
//
// Exact for small integers. Its rounding errors are bounded by the largest terms of the 2x2 tile, not by an output's own; and a
// NaN or an infinity reaches the whole tile.
#pragma once
#include "dsl/backend.h"

namespace halyard {

class Winograd {
public:
    // image(x, y, c, n) has zeros outside; filter(v, u, c, k) is clamped in k. Pixel (x, y) of the result is the sum of
    // filter(v, u) * image(x + v + shift_x, y + u + shift_y). `lanes`: of a vector.
    void define(const Halide::Func &image, const Halide::Func &filter, const Halide::Expr &shift_x, const Halide::Expr &shift_y, const Halide::Expr &channels, int lanes);
    Halide::Expr at(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k, const Halide::Expr &n) const;
    // o: the stored Func, which is at(...). Rows of tiles whose transforms stay in L2; the filter's transform is made once.
    void schedule(const Cpu &cpu, Halide::Func o) const;

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    int block_ = 8;  // channels of the result whose filters lie together
    Func padded_{"padded"}, columns_{"columns"}, image_{"image_transform"}, filter_columns_{"filter_columns"}, filter_{"filter_transform"};
    Func sum_{"sum"}, product_{"product"}, rows_{"rows"}, tile_{"tile"};
    Halide::RDom r_;
    Var x{"x"}, y{"y"}, c{"c"}, n{"n"}, k{"k"}, i{"i"}, j{"j"}, tx{"tx"}, ty{"ty"}, ko{"ko"}, ki{"ki"};
};

}  // namespace halyard
