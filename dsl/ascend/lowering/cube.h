// Products of matrices on the cube unit: from operands in global memory to sums in l0c, and from
// there to rows in the Unified Buffer or in global memory.
#pragma once
#include <algorithm>

#include "dsl/ascend/lowering/fractals.h"

namespace halyard::ascend {

// Sums in l0c. In the statement they are rows of `pitch` elements. On the chip they are bands of
// rows, one in each slot, in fractals of [columns][rows]: the first band is stored while the second
// one is multiplied.
struct Accumulator {
    dv::Ref ref;
    int64_t pitch = 0, max_rows = 0;  // max_rows: rows of a band
    int64_t rows = 0, columns = 0;    // the last product's, without padding
    int64_t bands() const { return (rows + max_rows - 1) / max_rows; }
    int64_t rows_of(int64_t band) const { return std::min(max_rows, rows - band * max_rows); }
};
// Declares a buffer for sums of these extents, columns first.
Accumulator accumulator(Writer &w, const std::string &name, const std::vector<int64_t> &extents);

// A matrix in GM; strides are in elements, and bursts are long if column_stride is 1. The left
// operand is [m][k], the right one [k][n]; if `transposed`, [k][m] and [n][k].
struct Matrix {
    dv::Ref ref;
    int64_t row_stride = 0, column_stride = 1;
    bool transposed = false;
};

// Emits sums = a b, or sums += a b if `accumulate` isn't 0. While one part of the depth is
// multiplied, the next one is loaded to l1.
void product(Writer &w, Accumulator &sums, const Matrix &a, const Matrix &b, int64_t m, int64_t k,
             int64_t n, const dv::Expr &accumulate);

// Moves the sums to rows of `pitch` elements in the Unified Buffer, as f32 or f16.
Operand rows_of(Writer &w, const Accumulator &sums, DType t);

// Stores the sums as f16 to rows and columns in global memory, in blocks of rows.
void store_rows(Writer &w, const Accumulator &sums, const Operand &to);

}  // namespace halyard::ascend
