// Matrix instructions (AMX) for sums of products that a schedule arranges in tiles.
#pragma once
#include <Halide.h>

namespace halyard {

constexpr int tile_columns = 32;  // of a tile product

// Makes every compilation of the pipeline replace its loop nests of the form
//
//     for k: for i: for j < 32: for q < group:
//         c[i][j] = c[i][j] + a[i][group k + q] * b[k][j][q]
//
// by calls of tile_product (registry/base/tile_product.h). `group` is 2 if a and b are bf16 and c
// is f32, 4 if they are u8, i8 and i32. c's columns, each row of a, and a row of b with its groups
// are contiguous. Throws Halide::Error when the pipeline is compiled if it has no such nest.
void use_matrix_tiles(Halide::Pipeline &pipeline);

}  // namespace halyard
