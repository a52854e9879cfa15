// Squares of 16 x 16 elements of 2 bytes in the Unified Buffer: transposed by themselves, their
// rows moved about as blocks of 32 B. What brings feature maps and filters into the layouts of the
// cube unit and back.
#pragma once
#include "dsl/ascend/lowering/writer.h"

namespace halyard::ascend {

inline constexpr int64_t fractal_side = dv::cube;
inline constexpr int64_t fractal_size = fractal_side * fractal_side;
// of what the functions below take at once: strides and repeats are bytes
inline constexpr int64_t max_columns = 255 * fractal_side;

inline int64_t fractals_of(int64_t n) {
    return (n + fractal_side - 1) / fractal_side;
}
inline int64_t whole_fractals(int64_t n) {
    return fractals_of(n) * fractal_side;
}
dv::Ref moved(dv::Ref r, const dv::Expr &by);

// Blocks at row * r + next * i, r < rows <= 16, i < repeat <= 255. Strides are in blocks, 255 at
// most.
struct Blocks {
    dv::Ref ref;
    int64_t row = 1, next = 1;
};
void move_blocks(Writer &w, const Blocks &dst, const Blocks &src, int64_t rows, int64_t repeat);

// Each of `count` squares that follow each other, 255 at most.
void transpose_squares(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t count);

// dst[column][16] = src[row][column] of `rows` <= 16 rows; with fewer than 16 the other elements
// are 0. `columns` is a multiple of 16 and the pitch of src.
void rows_to_columns(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t rows,
                     int64_t columns);
// The other way round: dst[16][columns] = src[columns][16].
void columns_to_rows(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t columns);

}  // namespace halyard::ascend
