// Products of matrices on the cube unit: from operands in global memory to sums in l0c, and from
// there to rows in the Unified Buffer.
#pragma once
#include <algorithm>

#include "dsl/ascend/lowering/fractals.h"

namespace halyard::ascend {

// Sums in l0c: as the statement sees them, rows of `pitch` elements; on the chip, bands of rows in
// a slot each, which are fractals of [columns][rows]. What is multiplied last is so band by band,
// and the first one leaves while the second one is multiplied.
struct Accumulator {
    dv::Ref ref;
    int64_t pitch = 0, max_rows = 0;  // max_rows: of a band
    int64_t rows = 0, columns = 0;    // of the last product, not padded
    int64_t bands() const { return (rows + max_rows - 1) / max_rows; }
    int64_t rows_of(int64_t band) const { return std::min(max_rows, rows - band * max_rows); }
};
// A buffer for sums of these extents, columns first.
Accumulator accumulator(Writer &w, const std::string &name, const std::vector<int64_t> &extents);

// A matrix in GM: rows[r][c], the columns best beside each other. Of the left operand rows are the
// product's (m), of the right one columns are (n); transposed where it is the other way round.
struct Matrix {
    dv::Ref ref;
    int64_t row_stride = 0, column_stride = 1;
    bool transposed = false;
};

// sums = a b, or += where `accumulate` isn't 0, over any depth: while one part of it is multiplied
// the next one comes to l1.
void product(Writer &w, Accumulator &sums, const Matrix &a, const Matrix &b, int64_t m, int64_t k,
             int64_t n, const dv::Expr &accumulate);

// The sums as rows of `pitch` elements in the Unified Buffer, as f32 or f16.
Operand rows_of(Writer &w, const Accumulator &sums, DType t);

// The sums as f16 to rows and columns in global memory, some rows after the others.
void store_rows(Writer &w, const Accumulator &sums, const Operand &to);

}  // namespace halyard::ascend
