#include "dsl/ascend/lowering/cube.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "dsl/ascend/lowering/fractals.h"
#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/vector.h"
#include "registry/base/integer.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;
using dv::Scope;

namespace {

constexpr int64_t side = fractal_side;
constexpr int64_t max_repeats = 255;
constexpr int64_t max_depth = 128;  // the depth of a part in l1
// Elements of a row along the depth: GM is read at the full rate in bursts of 512 B.
constexpr int64_t min_row = 256;
// Bytes of a piece, the part of an operand that is in the Unified Buffer on its way to l1.
constexpr int64_t piece_bytes = 65536;
// Rows of a piece. They are repeats of an instruction whose stride is max_rows + 1 blocks.
constexpr int64_t max_rows = 240;
constexpr int64_t min_in_two = 1024;    // blocks of a piece that is stored to l1 in two halves
constexpr int64_t max_sums_out = 4096;  // sums in the Unified Buffer on their way to GM

// Returns a depth that divides `k` if there is one, so that all parts are of one size.
int64_t depth_of(int64_t k, int64_t limit) {
    if (k <= limit) return k;
    for (int64_t d = limit; d >= limit / 2; d -= side)
        if (k % d == 0) return d;
    return limit;
}

template<class F> void each_16(int64_t n, F f) {
    for (int64_t first = 0; first < n; first += side)
        f(first, std::min(side, n - first));
}

class MatrixProduct {
public:
    MatrixProduct(Writer &w, const Accumulator &sums, const Matrix &a, const Matrix &b, int64_t k)
        : w_(w), sums_(sums), k_(k), m1_(fractals_of(sums.rows)), n1_(fractals_of(sums.columns)),
          depth_(depth_of(k, max_in_l1(max_depth))),
          together_(std::max<int64_t>(1, max_in_l1(min_row) / depth_)),
          slice_(
              std::clamp<int64_t>(bytes(Scope::l0a) / 2 / (std::max(m1_, n1_) * dv::fractal_bytes),
                                  1, fractals_of(depth_))),
          a_{a, a.transposed, m1_, sums.rows}, b_{b, !b.transposed, n1_, sums.columns} {}

    // Parts of the depth are loaded to l1 a step ahead of their use, and to l0a and l0b by slices.
    // The flags of all rings are set here, for full and for free slots: insert_sync() doesn't look
    // a step ahead, and it would take flags for each of several bodies that use one ring.
    void emit(const Expr &accumulate) {
        accumulate_ = accumulate;
        const auto of_a = declare(a_, "a");
        const auto of_b = declare(b_, "b");
        rows_ub_ = w_.ring("rows_ub", Scope::ub, DType::f16, std::max(of_a.rows, of_b.rows));
        fractals_ub_ = w_.ring("fractals_ub", Scope::ub, DType::f16,
                               std::max(of_a.fractals, of_b.fractals));
        l0a_ = w_.ring("a_l0a", Scope::l0a, DType::f16, m1_ * slice_ * fractal_size);
        l0b_ = w_.ring("b_l0b", Scope::l0b, DType::f16, n1_ * slice_ * fractal_size);
        for (const int k : {0, 1}) {
            set(dv::Pipe::v, dv::Pipe::mte2, k);
            set(dv::Pipe::m, dv::Pipe::mte1, k);
            set(dv::Pipe::mte3, dv::Pipe::v, k);
        }
        steps();
        // The pipe that sets a flag, and will set it again for the next product, waits until it has
        // been consumed.
        const auto over = [&](dv::Pipe from, dv::Pipe to) {
            wait(from, to, 0);
            wait(from, to, 1);
            set(to, from, 0);
            wait(to, from, 0);
        };
        over(dv::Pipe::v, dv::Pipe::mte2);
        over(dv::Pipe::mte3, dv::Pipe::v);
        over(dv::Pipe::m, dv::Pipe::mte1);
        if (pending_) wait(multiplies, dv::Pipe::v, 0);
    }

private:
    // A part of the depth, which is multiplied between two loads. Several parts are a stretch.
    struct Part {
        Expr index, stretch;   // the numbers of the part and of its stretch
        Expr slices;           // the number of slices before it
        Expr begin;            // where the stretch begins in the depth
        int64_t first, depth;  // where the part begins in the stretch, and its depth
    };
    // Emits the wait for a part.
    using Loaded = std::function<void()>;
    // The pipes that write to l1 and read from it.
    static constexpr dv::Pipe in = dv::Pipe::mte3;
    static constexpr dv::Pipe out = dv::Pipe::mte1;
    static constexpr dv::Pipe multiplies = dv::Pipe::m;
    void set(dv::Pipe from, dv::Pipe to, const Expr &id) { w_.emit(dv::SetFlag{from, to, id}); }
    void wait(dv::Pipe from, dv::Pipe to, const Expr &id) { w_.emit(dv::WaitFlag{from, to, id}); }
    int64_t slices_of(int64_t depth) const { return ceil_div(fractals_of(depth), slice_); }
    int64_t max_in_l1(int64_t depth) const {
        return std::max(side, std::min(depth, bytes(Scope::l1) / 4 /
                                                  ((m1_ + n1_) * dv::block_bytes) / side * side));
    }
    Part part_of(const Expr &stretch, int64_t t) const {
        const Expr i = stretch * together_ + t;
        return {i,          stretch, i * slices_of(depth_), stretch * (together_ * depth_),
                t * depth_, depth_};
    }
    // In each step one part is loaded while the part before it is multiplied. An operand whose rows
    // run along the depth is loaded by stretches, in rows that are long enough for GM. The last
    // parts are single slices, so that little is left to do once the last one is loaded.
    void steps() {
        const int64_t stretches = (k_ - 1) / (together_ * depth_);
        set(in, out, 1);
        set(out, in, 0);
        if (stretches) {
            w_.loop(w_.reg("depth"), stretches, [&](const Expr &s) { whole_stretch(s); });
        }
        turn_ = stretches * pieces_of_stretch();
        last_stretch(stretches);
    }
    // Emits next(), which loads step `i`, and now(loaded), which multiplies the step before.
    template<class Next, class Now> void step(const Expr &i, Next next, Now now) {
        wait(out, in, i % 2);
        next();
        set(in, out, i % 2);
        now([&] { wait(in, out, (i + 1) % 2); });
        set(out, in, (i + 1) % 2);
    }
    void whole_stretch(const Expr &s) {
        turn_ = s * pieces_of_stretch();
        for (int64_t t = 0; t < together_; t++) {
            const auto next = [&] { load(part_of(s, t), together_ * depth_); };
            step(s * together_ + t, next, [&](const Loaded &loaded) {
                if (t) return multiply(part_of(s, t - 1), loaded);
                w_.branch(0 < s,
                          w_.nested([&] { multiply(part_of(s - 1, together_ - 1), loaded); }),
                          w_.nested(loaded));
            });
        }
    }
    void last_stretch(int64_t stretches) {
        const std::vector<Part> last = last_parts(stretches);
        const int64_t first = stretches * together_;
        const int64_t past = first + int64_t(last.size());
        for (int64_t i = first; i <= past; i++) {
            const auto next = [&] {
                if (i == past) return;
                const Part &part = last[size_t(i - first)];
                load(part, whole_last(part.begin.value()));
            };
            step(i, next, [&](const Loaded &loaded) {
                if (i == 0) return loaded();
                const Part before = i > first ? last[size_t(i - first - 1)]
                                              : part_of(stretches - 1, together_ - 1);
                multiply(before, loaded,
                         i == past       ? Place::last
                         : i + 1 == past ? Place::last_but_one
                                         : Place::before);
            });
        }
        wait(in, out, past % 2);
        wait(out, in, (past + 1) % 2);
        set(in, out, 0);
        wait(in, out, 0);
    }
    int64_t whole_last(int64_t begin) const { return std::min(depth_, k_ - begin); }
    std::vector<Part> last_parts(int64_t stretches) const {
        std::vector<Part> all;
        int64_t s = stretches;
        int64_t i = stretches * together_;
        int64_t slices = i * slices_of(depth_);
        for (int64_t begin = stretches * together_ * depth_; begin < k_; begin += depth_, s++) {
            const int64_t deep = whole_last(begin);
            const int64_t step = stretches ? std::min(depth_, slice_ * side) : depth_;
            for (int64_t first = 0; first < deep; first += step, i++) {
                const int64_t depth = std::min(step, deep - first);
                all.push_back({i, s, slices, begin, first, depth});
                slices += slices_of(depth);
            }
        }
        return all;
    }

    // An operand and its buffers. Its rows in GM number the depth (by_depth) or the width.
    struct Side {
        Matrix matrix;
        bool by_depth;
        int64_t width1, width;        // in fractals, in elements
        int64_t rows_at_once = 0;     // rows of a piece
        int64_t columns_at_once = 0;  // fractals of a piece that are stored to l1 together
        Ref l1 = {};
    };
    Writer &w_;
    const Accumulator &sums_;
    // together_: parts of a stretch; slice_: depth of a slice, in fractals
    const int64_t k_, m1_, n1_, depth_, together_, slice_;
    Side a_, b_;
    Ref rows_ub_, fractals_ub_, l0a_, l0b_;
    Expr accumulate_, turn_;  // turn_: the number of pieces loaded before
    enum class Place { before, last_but_one, last };
    struct Slice {
        Ref l0a, l0b;
        int64_t depth;
        Expr turn;
    };
    std::optional<Slice> pending_;  // the slice whose second band isn't multiplied yet

    int64_t bytes(Scope s) const { return w_.program.chip().bytes(s); }
    static Ref slot(Ref r, const Expr &turn) {
        r.slot = turn % 2;
        return r;
    }
    // A piece that is large enough is sorted in two halves: one is stored while the other is
    // sorted.
    static int64_t columns_at_once(int64_t c1, int64_t rows) {
        return c1 * rows >= min_in_two ? std::min<int64_t>(8, ceil_div(c1, 2)) : c1;
    }
    struct Piece {
        int64_t rows, fractals;  // elements of the buffers for its rows and for its sorted fractals
    };
    Piece declare(Side &x, const std::string &name) {
        const int64_t deep = std::min(k_, x.by_depth ? depth_ : together_ * depth_);
        const int64_t rows = x.by_depth ? deep : x.width;
        const int64_t pitch = whole_fractals(x.by_depth ? x.width : deep);
        x.rows_at_once = even_part(fractals_of(rows),
                                   std::clamp<int64_t>(piece_bytes / 2 / pitch / side, 1,
                                                       max_rows / side)) *
                         side;
        x.l1 = w_.ring(name + "_l1", Scope::l1, DType::f16, x.width1 * side * whole_fractals(deep),
                       k_ > depth_ ? 2 : 1);
        x.columns_at_once = columns_at_once(pitch / side, x.rows_at_once);
        return {x.rows_at_once * pitch, (x.rows_at_once + 1) * x.columns_at_once * side};
    }
    int64_t pieces_of_stretch() const {
        const auto of = [&](const Side &x) {
            return x.by_depth ? together_ * ceil_div(depth_, x.rows_at_once)
                              : ceil_div(x.width, x.rows_at_once);
        };
        return of(a_) + of(b_);
    }

    void load(const Part &part, int64_t stretch) {
        for (const Side *x : {&a_, &b_}) {
            if (!x->by_depth && part.first) continue;
            const int64_t rows = x->by_depth ? part.depth : x->width;
            const int64_t whole = rows / x->rows_at_once;
            const int64_t rest = rows % x->rows_at_once;
            const int64_t depth = x->by_depth ? part.depth : stretch;
            if (whole) {
                w_.loop("piece", whole, [&](const Expr &p) {
                    piece(*x, part, depth, turn_ + p, p, x->rows_at_once);
                });
            }
            if (rest) piece(*x, part, depth, turn_ + whole, whole, rest);
            turn_ = turn_ + (whole + (rest != 0));
        }
    }
    Ref in_l1(const Side &x, const Part &part) const {
        return slot(x.l1, x.by_depth ? part.index : part.stretch);
    }
    // Loads rows and stores them to l1 as fractals [c1][r1]. They are loaded as rows and sorted by
    // the vector unit, because bursts of one block would waste the bandwidth to GM and to l1.
    void piece(const Side &x, const Part &part, int64_t depth, const Expr &turn, const Expr &p,
               int64_t rows) {
        const int64_t columns = x.by_depth ? x.width : depth;
        const int64_t c1 = fractals_of(columns);
        const int64_t r1 = x.by_depth ? fractals_of(depth) : x.width1;
        const int64_t pitch = c1 * side;
        const int64_t all = whole_fractals(rows);
        const Matrix &m = x.matrix;
        const Ref ub = slot(rows_ub_, turn);
        const Ref l1 = moved(in_l1(x, part), p * (x.rows_at_once * side));
        const Expr begin = part.begin + part.first;
        const Expr first = begin * (x.by_depth ? m.row_stride : m.column_stride) +
                           p * (x.rows_at_once * m.row_stride);
        const dv::Pipe loads = dv::Pipe::mte2;
        const dv::Pipe sorts = dv::Pipe::v;
        const dv::Pipe stores = dv::Pipe::mte3;
        wait(sorts, loads, ub.slot);
        // Elements that lie apart are gathered one by one, and what remains of a block is not
        // written.
        const bool gathers = m.column_stride != 1 && columns > 1 && columns < pitch;
        const int64_t kept = gathers ? 0 : rows;
        if (all > kept)
            Vectors(w_, {all - kept, pitch}).fill({moved(ub, kept * pitch), {pitch, 1}}, {"", 0});
        move(w_, {rows, columns}, {ub, {pitch, 1}},
             {moved(m.ref, first), {m.row_stride, m.column_stride}, Scope::gm});
        set(loads, sorts, ub.slot);
        wait(loads, sorts, ub.slot);
        const int64_t at_once = std::min(x.columns_at_once, c1);
        const int64_t groups = ceil_div(c1, at_once);
        for (int64_t group = 0; group < groups; group++) {
            const int64_t c = group * at_once;
            const int64_t count = std::min(at_once, c1 - c);
            const Ref fractals = slot(fractals_ub_, turn * groups + group);
            wait(stores, sorts, fractals.slot);
            each_16(count, [&](int64_t i, int64_t n) {
                move_blocks(w_, {moved(fractals, i * ((all + 1) * side)), all + 1, 1},
                            {moved(ub, (c + i) * side), 1, c1}, n, all);
            });
            if (group + 1 == groups) set(sorts, loads, ub.slot);
            set(sorts, stores, fractals.slot);
            wait(sorts, stores, fractals.slot);
            w_.emit(dv::Dma{moved(l1, c * (r1 * side) * side), fractals, count, all, 1,
                            r1 * side - all});
            set(stores, sorts, fractals.slot);
        }
    }
    // Multiplies the bands of the sums one after the other. Of the last two slices the first band
    // is multiplied first, so that it is stored while the second one is multiplied.
    void multiply(const Part &part, const Loaded &loaded, Place place = Place::before) {
        const bool single = part.depth <= slice_ * side;
        const bool hold = single && sums_.bands() > 1;
        const int64_t whole = part.depth / (slice_ * side);
        const int64_t rest = part.depth % (slice_ * side);
        const auto one = [&](const Expr &i, int64_t deep) {
            const Slice s = slice(
                part, i * slice_, deep, part.slices + i, single ? loaded : [] {});
            const auto bands = [&](const Slice &of, int64_t first) {
                for (int64_t b = first; b < sums_.bands(); b++)
                    mmad(of, b);
                set(dv::Pipe::m, dv::Pipe::mte1, of.l0a.slot);
            };
            if (hold && place == Place::last_but_one) {
                pending_ = s;
                return mmad(s, 0);
            }
            if (!pending_) return bands(s, 0);
            mmad(s, 0);
            set(multiplies, dv::Pipe::v, 0);
            bands(*pending_, 1);
            bands(s, 1);
        };
        if (!single) loaded();
        if (whole) w_.loop("slice", whole, [&](const Expr &i) { one(i, slice_ * side); });
        if (rest) one(whole, rest);
    }
    // Loads a slice: l0a is [m1][k1], l0b [k1][n1]. `k` is the number of fractals before it in the
    // part.
    Slice slice(const Part &part, const Expr &k, int64_t deep, const Expr &turn,
                const Loaded &loaded) {
        const int64_t k1 = fractals_of(deep);
        const int64_t all_k1 = fractals_of(part.depth);
        const Ref l0a = slot(l0a_, turn);
        const Ref l0b = slot(l0b_, turn);
        const Ref left = in_l1(a_, part);
        const Ref right = in_l1(b_, part);
        const Expr in_stretch = part.first / side + k;
        wait(multiplies, out, l0a.slot);
        const bool here = !a_.by_depth && part.first > 0;  // loaded with the stretch
        if (!here) loaded();
        w_.loop("m", m1_, [&](const Expr &i) {
            const Ref to = moved(l0a, i * (k1 * fractal_size));
            if (a_.by_depth)
                load_fractals(to, moved(left, (i * all_k1 + k) * fractal_size), k1, 1, true);
            else
                load_fractals(to, moved(left, (in_stretch * m1_ + i) * fractal_size), k1, m1_,
                              false);
        });
        if (here) loaded();
        if (!b_.by_depth)
            load_fractals(l0b, moved(right, in_stretch * (n1_ * fractal_size)), k1 * n1_, 1, false);
        else {
            w_.loop("k", k1, [&](const Expr &i) {
                load_fractals(moved(l0b, i * (n1_ * fractal_size)),
                              moved(right, (k + i) * fractal_size), n1_, all_k1, true);
            });
        }
        set(out, multiplies, l0a.slot);
        wait(out, multiplies, l0a.slot);
        return {l0a, l0b, deep, turn};
    }
    void mmad(const Slice &s, int64_t band) {
        dv::Mmad i;
        i.dst = slot(sums_.ref, band);
        i.a = moved(s.l0a, band * sums_.max_rows * whole_fractals(s.depth));
        i.b = s.l0b;
        i.m = sums_.rows_of(band);
        i.k = s.depth;
        i.n = sums_.columns;
        i.accumulate = accumulate_ + s.turn;
        w_.emit(i);
    }
    void load_fractals(const Ref &dst, const Ref &src, int64_t count, int64_t stride,
                       bool transpose) {
        const auto piece = [&](const Expr &first, int64_t n) {
            dv::Load2d l;
            l.dst = moved(dst, first * fractal_size);
            l.src = moved(src, first * (stride * fractal_size));
            l.repeat = n;
            l.src_stride = stride;
            l.transpose = transpose;
            w_.emit(l);
        };
        if (count / max_repeats) {
            w_.loop("part", count / max_repeats,
                    [&](const Expr &i) { piece(i * max_repeats, max_repeats); });
        }
        if (count % max_repeats) piece(count / max_repeats * max_repeats, count % max_repeats);
    }
};

// Moves rows of a band of the sums to rows of `pitch` elements in the Unified Buffer. They arrive
// as [n1][rows][16], in f16 with one block more between columns, so that the blocks of 8 columns
// are in 8 bank groups.
void out_of_l0c(Writer &w, const Accumulator &sums, int64_t band, const Expr &first, int64_t rows,
                const Ref &dst, int64_t pitch) {
    const int64_t m1 = fractals_of(sums.rows_of(band));
    const int64_t n1 = fractals_of(sums.columns);
    const int64_t r1 = fractals_of(rows);
    const int64_t all = r1 * side;
    const DType t = dst.dtype;
    const bool blocks = t == DType::f16 && all <= max_rows && pitch / side <= max_repeats;
    const int64_t column = (all + blocks) * side;
    const Ref nz = w.temporary(t, n1 * column);
    dv::CcToUb c;
    c.dst = nz;
    c.src = moved(sums.ref, first * side);
    c.src.slot = band;
    c.nburst = n1;
    c.burst = r1;
    c.src_gap = m1 - r1;
    c.dst_gap = blocks;
    w.emit(c);
    const auto copy = [&](int64_t n, int64_t count, int64_t width) {
        Vectors(w, {count, all, width})
            .copy({moved(dst, n * side), {side, pitch, 1}},
                  {moved(nz, n * column), {column, side, 1}});
    };
    if (blocks) {
        each_16(n1, [&](int64_t n, int64_t count) {
            move_blocks(w, {moved(dst, n * side), 1, pitch / side},
                        {moved(nz, n * column), all + 1, 1}, count, all);
        });
    } else {
        if (sums.columns / side) copy(0, sums.columns / side, side);
        if (sums.columns % side) copy(sums.columns / side, 1, sums.columns % side);
    }
    w.give_back(nz);
}

}  // namespace

void product(Writer &w, Accumulator &sums, const Matrix &a, const Matrix &b, int64_t m, int64_t k,
             int64_t n, const Expr &accumulate) {
    sums.rows = m;
    sums.columns = n;
    w.scope([&] { MatrixProduct(w, sums, a, b, k).emit(accumulate); });
}

Accumulator accumulator(Writer &w, const std::string &name, const std::vector<int64_t> &extents) {
    const int64_t columns = extents.empty() ? 1 : extents[0];
    const int64_t rows = extents.size() > 1 ? extents[1] : 1;
    const int64_t all = whole_fractals(rows);
    const int bands = all % (4 * side) == 0 ? 2 : 1;
    int64_t size = whole_fractals(columns) * all / bands;
    for (size_t d = 2; d < extents.size(); d++)
        size *= extents[d];
    return {w.ring(name, Scope::l0c, DType::f32, size, bands), whole_fractals(columns),
            all / bands};
}

Operand rows_of(Writer &w, const Accumulator &sums, DType t) {
    const Ref out = w.temporary(t, whole_fractals(sums.rows) * sums.pitch);
    for (int64_t b = 0; b < sums.bands(); b++) {
        out_of_l0c(w, sums, b, 0, whole_fractals(sums.rows_of(b)),
                   moved(out, b * sums.max_rows * sums.pitch), sums.pitch);
    }
    return {out, {sums.pitch, 1}};
}

void store_rows(Writer &w, const Accumulator &sums, const Operand &to) {
    const int64_t pitch = whole_fractals(sums.columns);
    const int64_t rows_at_once = std::min(std::max(side, max_sums_out / pitch / side * side),
                                          max_rows);
    const Ref out = w.ring("rows_ub", Scope::ub, DType::f16, rows_at_once * pitch);
    const dv::Pipe sorts = dv::Pipe::v;
    const dv::Pipe stores = dv::Pipe::mte3;
    const auto each = [&](auto f) {
        for (const int k : {0, 1})
            f(k);
    };
    each([&](int k) { w.emit(dv::SetFlag{stores, sorts, k}); });
    const auto part = [&](int64_t band, const Expr &i, int64_t rows) {
        Ref here = out;
        here.slot = i % 2;
        w.emit(dv::WaitFlag{stores, sorts, here.slot});
        out_of_l0c(w, sums, band, i * rows_at_once, whole_fractals(rows), here, pitch);
        w.emit(dv::SetFlag{sorts, stores, here.slot});
        w.emit(dv::WaitFlag{sorts, stores, here.slot});
        const Ref gm = moved(to.ref, (i * rows_at_once + band * sums.max_rows) * to.stride[0]);
        // Contiguous rows that don't end with a block are written beyond their end, into the next
        // row; the last row isn't.
        const int64_t before = sums.columns % side && sums.columns > side &&
                                       to.stride[0] == sums.columns
                                   ? rows - 1
                                   : 0;
        if (before) {
            w.loop("row", before, [&](const Expr &r) {
                w.emit(dv::Dma{moved(gm, r * sums.columns), moved(here, r * pitch), 1, pitch / side,
                               0, 0});
            });
        }
        move(w, {rows - before, sums.columns},
             {moved(gm, before * to.stride[0]), to.stride, Scope::gm},
             {moved(here, before * pitch), {pitch, 1}});
        w.emit(dv::SetFlag{stores, sorts, here.slot});
    };
    for (int64_t b = 0; b < sums.bands(); b++) {
        const int64_t whole = sums.rows_of(b) / rows_at_once;
        const int64_t rest = sums.rows_of(b) % rows_at_once;
        if (whole) w.loop("rows", whole, [&](const Expr &i) { part(b, i, rows_at_once); });
        if (rest) part(b, whole, rest);
    }
    each([&](int k) { w.emit(dv::WaitFlag{stores, sorts, k}); });
    // The next rows set these flags again.
    w.emit(dv::SetFlag{sorts, stores, 0});
    w.emit(dv::WaitFlag{sorts, stores, 0});
}

}  // namespace halyard::ascend
