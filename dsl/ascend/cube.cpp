#include "dsl/ascend/cube.h"

#include <algorithm>

#include "dsl/ascend/move.h"
#include "dsl/ascend/vector.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;
using dv::Scope;

namespace {

constexpr int64_t side = dv::cube, fractal = side * side;
constexpr int64_t depth_at_once = 64, slice_depth = 64;  // in l1, by way of two slots of the Unified Buffer; in l0a and l0b
constexpr int64_t most_repeats = 255;

int64_t fractals(int64_t n) { return (n + side - 1) / side; }

Ref at(Ref r, const Expr &offset) {
    r.offset = r.offset + offset;
    return r;
}

class Product {
public:
    Product(Writer &w, const Matrix &a, const Matrix &b, int64_t m, int64_t n) : w_(w), a_(a), b_(b), m_(m), n_(n) {}

    // One part of the depth, from `first` on, which comes to l1 whole and to l0a and l0b by slices.
    void part(const Expr &first, int64_t depth, const Ref &sums, const Expr &accumulate) {
        const Ref left = in_l1("a", a_, m_, depth, first), right = in_l1("b", b_, n_, depth, first);
        const int64_t whole = depth / slice_depth, rest = depth % slice_depth;
        w_.scope([&] {
            if (whole) w_.loop("slice", whole, [&](const Expr &i) { slice(i * slice_depth, slice_depth, depth, left, right, sums, accumulate + i); });
            if (rest) slice(whole * slice_depth, rest, depth, left, right, sums, accumulate + whole);
        });
    }

private:
    Writer &w_;
    const Matrix a_, b_;
    const int64_t m_, n_;

    // l0a is [m1][k1], l0b [k1][n1]; l1 has [c1][r1] of fractals of rows and columns as they lie.
    void slice(const Expr &first, int64_t depth, int64_t in_l1, const Ref &left, const Ref &right, const Ref &sums, const Expr &accumulate) {
        const int64_t m1 = fractals(m_), k1 = fractals(depth), n1 = fractals(n_), all_k1 = fractals(in_l1);
        const Expr k = first / side;
        const Ref l0a = w_.arriving("a_l0a", Scope::l0a, DType::f16, m1 * k1 * fractal), l0b = w_.arriving("b_l0b", Scope::l0b, DType::f16, k1 * n1 * fractal);
        w_.loop("m", m1, [&](const Expr &i) {
            const Ref to = at(l0a, i * (k1 * fractal));
            if (a_.transposed) load(to, at(left, (i * all_k1 + k) * fractal), k1, 1, true);
            else load(to, at(left, (k * m1 + i) * fractal), k1, m1, false);
        });
        if (b_.transposed) load(l0b, at(right, k * (n1 * fractal)), k1 * n1, 1, false);
        else w_.loop("k", k1, [&](const Expr &i) { load(at(l0b, i * (n1 * fractal)), at(right, (k + i) * fractal), n1, all_k1, true); });
        dv::Mmad mmad;
        mmad.dst = sums, mmad.a = l0a, mmad.b = l0b, mmad.m = m_, mmad.k = depth, mmad.n = n_, mmad.accumulate = accumulate;
        w_.put(mmad);
    }

    void load(const Ref &dst, const Ref &src, int64_t count, int64_t stride, bool transpose) {
        const auto piece = [&](const Expr &first, int64_t n) {
            dv::Load2d l;
            l.dst = at(dst, first * fractal), l.src = at(src, first * (stride * fractal)), l.repeat = n, l.src_stride = stride, l.transpose = transpose;
            w_.put(l);
        };
        if (count / most_repeats) w_.loop("part", count / most_repeats, [&](const Expr &i) { piece(i * most_repeats, most_repeats); });
        if (count % most_repeats) piece(count / most_repeats * most_repeats, count % most_repeats);
    }

    // A part of an operand as [c1][rows][16] in l1. It comes in rows, by way of the Unified Buffer, because bursts of one block waste GM.
    Ref in_l1(const std::string &name, const Matrix &x, int64_t width, int64_t depth, const Expr &first) {
        const bool by_depth = &x == &a_ ? x.transposed : !x.transposed;  // rows go along the depth
        const int64_t rows = by_depth ? depth : width, columns = by_depth ? width : depth, r1 = fractals(rows), c1 = fractals(columns), pitch = c1 * side;
        const Ref ub = w_.arriving(name + "_ub", Scope::ub, DType::f16, r1 * side * pitch);
        const Operand from{at(x.ref, first * (by_depth ? x.row_stride : x.column_stride)), {x.row_stride, x.column_stride}, Scope::gm};
        if (const int64_t rest = r1 * side - rows) Vectors(w_, {rest, pitch}).fill({at(ub, rows * pitch), {pitch, 1}}, {"", 0});
        move(w_, {rows, columns}, {ub, {pitch, 1}}, from);
        const Ref l1 = w_.arriving(name + "_l1", Scope::l1, DType::f16, r1 * side * pitch);
        w_.loop("c", c1, [&](const Expr &i) {
            dv::Dma d;
            d.dst = at(l1, i * (r1 * fractal)), d.src = at(ub, i * side), d.nburst = r1 * side, d.burst = 1, d.src_gap = c1 - 1;
            w_.put(d);
        });
        return l1;
    }
};

}  // namespace

void product(Writer &w, Accumulator &sums, const Matrix &a, const Matrix &b, int64_t m, int64_t k, int64_t n, const Expr &accumulate) {
    sums.rows = m, sums.columns = n;
    Product p(w, a, b, m, n);
    const int64_t whole = k / depth_at_once, rest = k % depth_at_once;
    w.scope([&] {
        if (whole) w.loop(w.reg("depth"), whole, [&](const Expr &i) { p.part(i * depth_at_once, depth_at_once, sums.ref, accumulate + i); });
        if (rest) p.part(whole * depth_at_once, rest, sums.ref, accumulate + whole);
    });
}

Operand rows_of(Writer &w, const Accumulator &sums, DType t) {
    const int64_t m1 = fractals(sums.rows), n1 = fractals(sums.columns), whole = sums.columns / side, rest = sums.columns % side;
    const Ref nz = w.temporary(t, m1 * n1 * fractal), rows = w.temporary(t, sums.rows * sums.pitch);
    dv::CcToUb c;
    c.dst = nz, c.src = sums.ref, c.burst = m1 * n1;
    w.put(c);
    const auto copy = [&](int64_t first, int64_t count, int64_t width) {
        Vectors v(w, {count, sums.rows, width});
        v.copy({at(rows, first * side), {side, sums.pitch, 1}}, {at(nz, first * m1 * fractal), {m1 * fractal, side, 1}});
    };
    if (whole) copy(0, whole, side);
    if (rest) copy(whole, 1, rest);
    w.give_back(nz);
    return {rows, {sums.pitch, 1}};
}

}  // namespace halyard::ascend
