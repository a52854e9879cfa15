#include "dsl/ascend/cube.h"

#include <algorithm>

#include "dsl/ascend/fractals.h"
#include "dsl/ascend/move.h"
#include "dsl/ascend/vector.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;
using dv::Scope;

namespace {

constexpr int64_t side = fractal_side, most_repeats = 255;
constexpr int64_t most_depth = 256;       // of a part in l1: rows of 512 B, which is what GM is good at
constexpr int64_t least_parts = 16;       // or else shorter ones: the first and the last one have the chip to themselves
constexpr int64_t at_once_bytes = 65536;  // of an operand in the Unified Buffer, on its way to l1: three slots
constexpr int64_t most_rows = 240;        // of a piece: they are repeats, and strides of as many blocks and one
constexpr int64_t rows_at_once = 32;      // of sums on their way out

int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }
int64_t evenly(int64_t n, int64_t most) { return ceil_div(n, ceil_div(n, most)); }  // in parts of about the same size

// A depth that divides k, where one does: no part is shorter than the others.
int64_t depth_of(int64_t k, int64_t most) {
    if (k <= most) return k;
    for (int64_t d = most; d >= most / 2; d -= side)
        if (k % d == 0) return d;
    return most;
}

template<class F> void each_16(int64_t n, F f) {
    for (int64_t first = 0; first < n; first += side) f(first, std::min(side, n - first));
}

class Product {
public:
    Product(Writer &w, const Accumulator &sums, const Matrix &a, const Matrix &b, int64_t k)
        : w_(w), sums_(sums), k_(k), m1_(fractals_of(sums.rows)), n1_(fractals_of(sums.columns)),
          depth_(depth_of(k, std::max(side, std::min(k >= least_parts * most_depth ? most_depth : most_depth / 2,
                                                     bytes(Scope::l1) / 4 / ((m1_ + n1_) * dv::block_bytes) / side * side)))),
          slice_(std::clamp<int64_t>(bytes(Scope::l0a) / 2 / (std::max(m1_, n1_) * dv::fractal_bytes), 1, fractals_of(depth_))),
          a_{a, a.transposed, m1_, sums.rows}, b_{b, !b.transposed, n1_, sums.columns} {}

    // Parts of the depth come to l1 a step ahead of their use, and to l0a and l0b by slices. Every ring has flags of its own here, slots being
    // full or free: the automatic ones don't look a step ahead, and of several bodies that use one ring each would want its own.
    void put(const Expr &accumulate) {
        accumulate_ = accumulate;
        const bool several = k_ > depth_;
        const int64_t piece = std::max(declare(a_, "a", several), declare(b_, "b", several));
        rows_ub_ = w_.ring("rows_ub", Scope::ub, DType::f16, piece), fractals_ub_ = w_.buffer("fractals_ub", Scope::ub, DType::f16, piece);
        l0a_ = w_.ring("a_l0a", Scope::l0a, DType::f16, m1_ * slice_ * fractal_size);
        l0b_ = w_.ring("b_l0b", Scope::l0b, DType::f16, n1_ * slice_ * fractal_size);
        flags([&](dv::Pipe from, dv::Pipe to, int id) { w_.put(dv::SetFlag{from, to, id}); });
        if (several) steps();
        else arrive({0, 0, depth_}), multiply({0, 0, depth_});
        flags([&](dv::Pipe from, dv::Pipe to, int id) { w_.put(dv::WaitFlag{from, to, id}); });
        w_.put(dv::Barrier{});  // the next product sets them again, and no earlier than this one has waited for them
    }

private:
    struct Part {
        Expr index, first;  // of the depth
        int64_t depth;
    };
    // One part arrives, the one before it is multiplied. The last parts are short: nothing comes while the very last one is multiplied.
    void steps() {
        const dv::Pipe in = dv::Pipe::mte3, out = dv::Pipe::mte1;
        const auto step = [&](const Expr &i, auto next, auto now) {
            w_.put(dv::WaitFlag{out, in, i % 2});
            next();
            w_.put(dv::SetFlag{in, out, i % 2}), w_.put(dv::WaitFlag{in, out, (i + 1) % 2});
            now();
            w_.put(dv::SetFlag{out, in, (i + 1) % 2});
        };
        const auto whole = [&](const Expr &i) { return Part{i, i * depth_, depth_}; };
        const int64_t rest = k_ % depth_, turns = k_ / depth_ - !rest;
        const bool in_two = !rest && depth_ % (4 * side) == 0;
        const std::vector<int64_t> last = in_two ? std::vector<int64_t>{depth_ / 4 * 3, depth_ / 4} : std::vector<int64_t>{rest ? rest : depth_};
        w_.put(dv::SetFlag{in, out, 1}), w_.put(dv::SetFlag{out, in, 0});
        w_.loop(w_.reg("depth"), turns, [&](const Expr &i) {
            const auto now = [&] { multiply(whole(i - 1)); };
            const auto next = [&] { arrive(whole(i)); };
            step(i, next, [&] { w_.branch(0 < i, w_.nested(now), {}); });
        });
        Part before = whole(turns - 1);
        int64_t i = turns, first = turns * depth_;
        const auto now = [&] { multiply(before); };
        for (const int64_t depth : last) {
            const Part part{i, first, depth};
            const auto next = [&] { arrive(part); };
            step(i++, next, now);
            before = part, first += depth;
        }
        const auto nothing = [] {};
        step(i, nothing, now);
        w_.put(dv::WaitFlag{in, out, i % 2}), w_.put(dv::WaitFlag{out, in, (i + 1) % 2});
    }

    // An operand and its buffers. Its rows, as they lie, go along the depth, or along its width.
    struct Side {
        Matrix matrix;
        bool by_depth;
        int64_t width1, width;  // fractals, elements
        int64_t rows_at_once = 0, pieces = 0;
        Ref l1 = {};
    };
    Writer &w_;
    const Accumulator &sums_;
    const int64_t k_, m1_, n1_, depth_, slice_;  // slice_: fractals of the depth
    Side a_, b_;
    Ref rows_ub_, fractals_ub_, l0a_, l0b_;
    Expr accumulate_;

    int64_t bytes(Scope s) const { return w_.p.chip().bytes(s); }
    static Ref slot(Ref r, const Expr &turn) {
        r.slot = turn % 2;
        return r;
    }
    // Elements of a piece of it.
    int64_t declare(Side &x, const std::string &name, bool several) {
        const int64_t rows = x.by_depth ? depth_ : x.width, pitch = whole_fractals(x.by_depth ? x.width : depth_);
        x.rows_at_once = evenly(fractals_of(rows), std::clamp<int64_t>(at_once_bytes / 2 / pitch / side, 1, most_rows / side)) * side;
        x.pieces = ceil_div(rows, x.rows_at_once);
        x.l1 = w_.ring(name + "_l1", Scope::l1, DType::f16, x.width1 * side * whole_fractals(depth_), several ? 2 : 1);
        return (x.rows_at_once + 1) * pitch;
    }

    void arrive(const Part &part) {
        Expr turn = part.index * (a_.pieces + b_.pieces);
        for (const Side *x : {&a_, &b_}) {
            const int64_t rows = x->by_depth ? part.depth : x->width, whole = rows / x->rows_at_once, rest = rows % x->rows_at_once;
            if (whole) w_.loop("piece", whole, [&](const Expr &p) { piece(*x, part, turn + p, p, x->rows_at_once); });
            if (rest) piece(*x, part, turn + whole, whole, rest);
            turn = turn + x->pieces;
        }
    }
    // Rows to [c1][r1] of fractals of columns and rows. They come as rows, because bursts of one block waste GM; the vector unit puts them
    // into order, because so do they between the Unified Buffer and l1.
    void piece(const Side &x, const Part &part, const Expr &turn, const Expr &p, int64_t rows) {
        const int64_t depth = part.depth;
        const int64_t columns = x.by_depth ? x.width : depth, c1 = fractals_of(columns), r1 = x.by_depth ? fractals_of(depth) : x.width1;
        const int64_t pitch = c1 * side, all = whole_fractals(rows);
        const Matrix &m = x.matrix;
        const Ref ub = slot(rows_ub_, turn), fractals = fractals_ub_, l1 = moved(slot(x.l1, part.index), p * (x.rows_at_once * side));
        const Expr first = part.first * (x.by_depth ? m.row_stride : m.column_stride) + p * (x.rows_at_once * m.row_stride);
        const dv::Pipe arrives = dv::Pipe::mte2, sorts = dv::Pipe::v, leaves = dv::Pipe::mte3;
        w_.put(dv::WaitFlag{sorts, arrives, ub.slot});
        if (all > rows) Vectors(w_, {all - rows, pitch}).fill({moved(ub, rows * pitch), {pitch, 1}}, {"", 0});
        move(w_, {rows, columns}, {ub, {pitch, 1}}, {moved(m.ref, first), {m.row_stride, m.column_stride}, Scope::gm});
        w_.put(dv::SetFlag{arrives, sorts, ub.slot}), w_.put(dv::WaitFlag{arrives, sorts, ub.slot}), w_.put(dv::WaitFlag{leaves, sorts, 0});
        each_16(c1, [&](int64_t c, int64_t count) {
            move_blocks(w_, {moved(fractals, c * ((all + 1) * side)), all + 1, 1}, {moved(ub, c * side), 1, c1}, count, all);
        });
        w_.put(dv::SetFlag{sorts, arrives, ub.slot}), w_.put(dv::SetFlag{sorts, leaves, 0}), w_.put(dv::WaitFlag{sorts, leaves, 0});
        w_.put(dv::Dma{l1, fractals, c1, all, 1, r1 * side - all});
        w_.put(dv::SetFlag{leaves, sorts, 0});
    }
    // Slots for rows, the one for what becomes of them, and those of l0a and l0b are free.
    template<class F> void flags(F put) {
        for (const int k : {0, 1}) put(dv::Pipe::v, dv::Pipe::mte2, k), put(dv::Pipe::m, dv::Pipe::mte1, k);
        put(dv::Pipe::mte3, dv::Pipe::v, 0);
    }

    void multiply(const Part &part) {
        const int64_t all = ceil_div(fractals_of(depth_), slice_), whole = part.depth / (slice_ * side), rest = part.depth % (slice_ * side);
        const auto one = [&](const Expr &i, int64_t deep) { slice(part, i * slice_, deep, part.index * all + i); };
        if (whole) w_.loop("slice", whole, [&](const Expr &i) { one(i, slice_ * side); });
        if (rest) one(whole, rest);
    }
    // l0a is [m1][k1], l0b [k1][n1].
    void slice(const Part &part, const Expr &k, int64_t deep, const Expr &turn) {
        const int64_t k1 = fractals_of(deep), all_k1 = fractals_of(part.depth);
        const Ref l0a = slot(l0a_, turn), l0b = slot(l0b_, turn), left = slot(a_.l1, part.index), right = slot(b_.l1, part.index);
        const dv::Pipe loads = dv::Pipe::mte1, multiplies = dv::Pipe::m;
        w_.put(dv::WaitFlag{multiplies, loads, l0a.slot});
        w_.loop("m", m1_, [&](const Expr &i) {
            const Ref to = moved(l0a, i * (k1 * fractal_size));
            if (a_.by_depth) load(to, moved(left, (i * all_k1 + k) * fractal_size), k1, 1, true);
            else load(to, moved(left, (k * m1_ + i) * fractal_size), k1, m1_, false);
        });
        if (!b_.by_depth) load(l0b, moved(right, k * (n1_ * fractal_size)), k1 * n1_, 1, false);
        else w_.loop("k", k1, [&](const Expr &i) { load(moved(l0b, i * (n1_ * fractal_size)), moved(right, (k + i) * fractal_size), n1_, all_k1, true); });
        w_.put(dv::SetFlag{loads, multiplies, l0a.slot}), w_.put(dv::WaitFlag{loads, multiplies, l0a.slot});
        dv::Mmad mmad;
        mmad.dst = sums_.ref, mmad.a = l0a, mmad.b = l0b, mmad.m = sums_.rows, mmad.k = deep, mmad.n = sums_.columns, mmad.accumulate = accumulate_ + turn;
        w_.put(mmad);
        w_.put(dv::SetFlag{multiplies, loads, l0a.slot});
    }
    void load(const Ref &dst, const Ref &src, int64_t count, int64_t stride, bool transpose) {
        const auto piece = [&](const Expr &first, int64_t n) {
            dv::Load2d l;
            l.dst = moved(dst, first * fractal_size), l.src = moved(src, first * (stride * fractal_size)), l.repeat = n, l.src_stride = stride;
            l.transpose = transpose;
            w_.put(l);
        };
        if (count / most_repeats) w_.loop("part", count / most_repeats, [&](const Expr &i) { piece(i * most_repeats, most_repeats); });
        if (count % most_repeats) piece(count / most_repeats * most_repeats, count % most_repeats);
    }
};

// Rows of the sums as rows of `pitch` elements. They leave as [n1][rows][16], which in f16 are blocks, with one more between columns, so that
// those of 8 columns are in 8 groups of banks.
void out_of_l0c(Writer &w, const Accumulator &sums, const Expr &first, int64_t rows, const Ref &dst, int64_t pitch) {
    const int64_t m1 = fractals_of(sums.rows), n1 = fractals_of(sums.columns), r1 = fractals_of(rows), all = r1 * side;
    const DType t = dst.dtype;
    const bool blocks = t == DType::f16 && all <= most_rows && pitch / side <= most_repeats;
    const int64_t column = (all + blocks) * side;
    const Ref nz = w.temporary(t, n1 * column);
    dv::CcToUb c;
    c.dst = nz, c.src = moved(sums.ref, first * side), c.nburst = n1, c.burst = r1, c.src_gap = m1 - r1, c.dst_gap = blocks;
    w.put(c);
    const auto copy = [&](int64_t n, int64_t count, int64_t width) {
        Vectors(w, {count, all, width}).copy({moved(dst, n * side), {side, pitch, 1}}, {moved(nz, n * column), {column, side, 1}});
    };
    if (blocks) {
        each_16(n1, [&](int64_t n, int64_t count) {
            move_blocks(w, {moved(dst, n * side), 1, pitch / side}, {moved(nz, n * column), all + 1, 1}, count, all);
        });
    } else {
        if (sums.columns / side) copy(0, sums.columns / side, side);
        if (sums.columns % side) copy(sums.columns / side, 1, sums.columns % side);
    }
    w.give_back(nz);
}

}  // namespace

void product(Writer &w, Accumulator &sums, const Matrix &a, const Matrix &b, int64_t m, int64_t k, int64_t n, const Expr &accumulate) {
    sums.rows = m, sums.columns = n;
    w.scope([&] { Product(w, sums, a, b, k).put(accumulate); });
}

Operand rows_of(Writer &w, const Accumulator &sums, DType t) {
    const Ref out = w.temporary(t, whole_fractals(sums.rows) * sums.pitch);
    out_of_l0c(w, sums, 0, whole_fractals(sums.rows), out, sums.pitch);
    return {out, {sums.pitch, 1}};
}

void store_rows(Writer &w, const Accumulator &sums, const Operand &to) {
    const int64_t pitch = whole_fractals(sums.columns), whole = sums.rows / rows_at_once, rest = sums.rows % rows_at_once;
    const Ref out = w.ring("rows_ub", Scope::ub, DType::f16, rows_at_once * pitch);
    const auto part = [&](const Expr &i, int64_t rows) {
        Ref here = out;
        here.slot = i % 2;
        out_of_l0c(w, sums, i * rows_at_once, whole_fractals(rows), here, pitch);
        const Ref gm = moved(to.ref, i * (rows_at_once * to.stride[0]));
        // Rows that follow each other, and don't end with a block, run on into the next one, but for the last.
        const int64_t before = sums.columns % side && sums.columns > side && to.stride[0] == sums.columns ? rows - 1 : 0;
        if (before) w.loop("row", before, [&](const Expr &r) { w.put(dv::Dma{moved(gm, r * sums.columns), moved(here, r * pitch), 1, pitch / side, 0, 0}); });
        move(w, {rows - before, sums.columns}, {moved(gm, before * to.stride[0]), to.stride, Scope::gm}, {moved(here, before * pitch), {pitch, 1}});
    };
    if (whole) w.loop("rows", whole, [&](const Expr &i) { part(i, rows_at_once); });
    if (rest) part(whole, rest);
}

}  // namespace halyard::ascend
