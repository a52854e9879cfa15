#include "dsl/ascend/lowering/fractals.h"

#include <algorithm>

namespace halyard::ascend {

dv::Ref moved(dv::Ref r, const dv::Expr &by) {
    r.offset = r.offset + by;
    return r;
}

namespace {

// An instruction processes eight rows, which are the blocks of a repeat.
constexpr int64_t at_once = 8;

dv::Vec blocks(dv::VecOp op, const dv::Ref &dst, const Blocks &to, int64_t rows, int64_t repeat) {
    dv::Vec v;
    v.op = op;
    v.dst = dst;
    v.mask.count = rows * fractal_side;
    v.repeat = repeat;
    v.dst_blk = int(to.row);
    v.dst_rep = to.next;
    return v;
}

}  // namespace

void move_blocks(Writer &w, const Blocks &dst, const Blocks &src, int64_t rows, int64_t repeat) {
    for (int64_t r = 0; r < rows; r += at_once) {
        const dv::Ref from = moved(src.ref, r * src.row * fractal_side);
        // The maximum of a number and itself is that number.
        dv::Vec v = blocks(dv::VecOp::max, moved(dst.ref, r * dst.row * fractal_side), dst,
                           std::min(at_once, rows - r), repeat);
        for (const int k : {0, 1}) {
            v.src[k] = from;
            v.src_blk[k] = int(src.row);
            v.src_rep[k] = src.next;
        }
        w.emit(v);
    }
}

void transpose_squares(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t count) {
    dv::VecTrans t;
    t.dst = dst;
    t.src = src;
    t.repeat = count;
    w.emit(t);
}

void rows_to_columns(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t rows,
                     int64_t columns) {
    const int64_t squares = columns / fractal_side;
    const dv::Ref sorted = w.temporary(dst.dtype, columns * fractal_side);
    move_blocks(w, {sorted, 1, fractal_side}, {src, squares, 1}, rows, squares);
    for (int64_t r = rows; r < fractal_side; r += at_once) {
        w.emit(blocks(dv::VecOp::dup, moved(sorted, r * fractal_side), {{}, 1, fractal_side},
                      std::min(at_once, fractal_side - r), squares));
    }
    transpose_squares(w, dst, sorted, squares);
    w.give_back(sorted);
}

void columns_to_rows(Writer &w, const dv::Ref &dst, const dv::Ref &src, int64_t columns) {
    const int64_t squares = columns / fractal_side;
    const dv::Ref sorted = w.temporary(dst.dtype, columns * fractal_side);
    transpose_squares(w, sorted, src, squares);
    move_blocks(w, {dst, squares, 1}, {sorted, 1, fractal_side}, fractal_side, squares);
    w.give_back(sorted);
}

}  // namespace halyard::ascend
