// Squares of 16 x 16 elements of 2 bytes in the Unified Buffer. They are transposed by one
// instruction, and their rows are blocks of 32 B. These functions convert feature maps and filters
// to the layouts of the cube unit and back.
#pragma once
#include "dsl/ascend/lowering/writer.h"
#include "registry/base/integer.h"

namespace halyard::ascend {

inline constexpr int64_t fractal_side = dv::cube;
inline constexpr int64_t fractal_size = fractal_side * fractal_side;
// The largest number of columns of the functions below, whose strides and repeats are at most 255.
inline constexpr int64_t max_columns = 255 * fractal_side;

inline int64_t fractals_of(int64_t n) {
    return (n + fractal_side - 1) / fractal_side;
}
inline int64_t whole_fractals(int64_t n) {
    return fractals_of(n) * fractal_side;
}
// Returns the size of parts of `n` of about the same size, each of at most `limit`.
inline int64_t even_part(int64_t n, int64_t limit) {
    return ceil_div(n, ceil_div(n, limit));
}
// Returns the position `by` elements further on.
dv::Ref moved(dv::Ref r, const dv::Expr &by);

// The blocks at row * r + next * i, r < rows <= 16, i < repeat <= 255. Strides are in blocks, 255
// at most.
struct Blocks {
    dv::Ref ref;
    int64_t row = 1, next = 1;
};
void move_blocks(Writer &w, const Blocks &dst, const Blocks &src, int64_t rows, int64_t repeat);

// Transposes each of `count` contiguous squares, 255 at most.
void transpose_squares(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t count);

// Transposes `rows` <= 16 rows: dst[column][row] = src[row][column]. Elements of dst for rows that
// are missing are 0. `columns` is a multiple of 16 and the pitch of src.
void rows_to_columns(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t rows,
                     int64_t columns);
// Transposes columns of 16 elements: dst[16][columns] = src[columns][16].
void columns_to_rows(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t columns);

}  // namespace halyard::ascend
