#include "kernels/convolution/winograd.h"

#include "dsl/real.h"

namespace halyard {
using namespace Halide;
namespace {

Expr choose(const Expr &which, const std::vector<Expr> &from) {
    Expr e = from.back();
    for (size_t a = from.size() - 1; a-- > 0;)
        e = select(which == int(a), from[a], e);
    return e;
}
template<class F> std::vector<Expr> times_b(F d) {
    return {d(0) - d(2), d(1) + d(2), d(2) - d(1), d(1) - d(3)};
}
template<class F> std::vector<Expr> times_g(F g) {
    return {g(0), (g(0) + g(1) + g(2)) * 0.5_r, (g(0) - g(1) + g(2)) * 0.5_r, g(2)};
}
template<class F> std::vector<Expr> times_a(F m) {
    return {m(0) + m(1) + m(2), m(1) - m(2) - m(3)};
}
template<class F> std::vector<Expr> times_g_of_2(F g) {
    return {g(0), (g(0) + g(1)) * 0.5_r, (g(0) - g(1)) * 0.5_r, g(1)};
}
template<class F> std::vector<Expr> times_a_of_3(F m) {
    return {m(0) + m(1) + m(2), m(1) - m(2), m(1) + m(2) - m(3)};
}

// The loops over a result whose pixels come in tiles of 2 x 2 and whose channels in blocks of
// vectors.
struct TileLoops {
    Var x, y;  // tiles
    Var x_in_tile;
    Var block, vector, lane;  // channels
};

// Splits the loops of o over pixels and channels. `rows` is its loop over rows, or over those of a
// strip, and becomes the loops `y` and `y_in_tile`. A block has `block` channels and a vector v.
TileLoops split_into_tiles(Func o, const Var &rows, const Var &y_in_tile, int block, int v) {
    const TailStrategy guard = TailStrategy::GuardWithIf;
    TileLoops t;
    o.split(rows, t.y, y_in_tile, 2, guard)
        .split(o.args()[0], t.x, t.x_in_tile, 2, guard)
        .split(o.args()[2], t.block, t.vector, block, guard)
        .split(t.vector, t.vector, t.lane, v, guard);
    return t;
}

// Computes a tile of 2 x 2 results, v channels at once, and the rows of which it is made, in the
// loop `loop` of o. Both stay on the stack, which is faster than memory from the pool.
void compute_tile_at(Func tile, Func rows, const Func &o, const Var &loop, int v) {
    const Var k = tile.args()[0];
    const Var x = tile.args()[1];
    const Var y = tile.args()[2];
    const Var j = rows.args()[2];
    tile.compute_at(o, loop)
        .store_in(MemoryType::Stack)
        .bound_extent(k, v)
        .bound_extent(x, 2)
        .bound_extent(y, 2)
        .vectorize(k, v)
        .unroll(x)
        .unroll(y);
    rows.compute_at(o, loop)
        .store_in(MemoryType::Stack)
        .bound_extent(j, 4)
        .bound_extent(k, v)
        .bound_extent(x, 2)
        .vectorize(k, v)
        .unroll(x)
        .unroll(j);
}

}  // namespace

void Winograd::define(const Func &image, const Func &filter, const Expr &shift_x,
                      const Expr &shift_y, const Expr &channels, int lanes) {
    block_ = 2 * lanes;
    padded_(c, x, y, n) = image(x + shift_x, y + shift_y, c, n);
    columns_(c, i, j, tx, ty,
             n) = choose(i, times_b([&](int z) { return padded_(c, tx * 2 + z, ty * 2 + j, n); }));
    image_(c, tx, ty, i, j,
           n) = choose(j, times_b([&](int z) { return columns_(c, i, z, tx, ty, n); }));
    filter_columns_(ki, c, i, y, ko) = choose(
        i, times_g([&](int z) { return filter(z, y, c, ko * block_ + ki); }));
    filter_(ki, c, i, j,
            ko) = choose(j, times_g([&](int z) { return filter_columns_(ki, c, i, z, ko); }));
    // Unscheduled kernels keep them, too: if they transformed anew for every product, checks would
    // take minutes.
    image_.compute_root();
    filter_.compute_root();
    r_ = RDom(0, channels);
    sum_(ki, tx, ty, ko, i, j, n) += filter_(ki, r_, i, j, ko) * image_(r_, tx, ty, i, j, n);
    product_(ki, tx, ty, ko, i, j, n) = sum_(ki, tx, ty, ko, i, j, n);
    rows_(k, x, j, tx, ty, n) = choose(
        x, times_a([&](int z) { return product_(k % block_, tx, ty, k / block_, z, j, n); }));
    tile_(k, x, y, tx, ty, n) = choose(y,
                                       times_a([&](int z) { return rows_(k, x, z, tx, ty, n); }));
}

Expr Winograd::at(const Expr &ax, const Expr &ay, const Expr &ak, const Expr &an) const {
    return tile_(ak, ax % 2, ay % 2, ax / 2, ay / 2, an);
}

void Winograd::schedule(const Cpu &cpu, Func o) const {
    const int strip = cpu.pick("strip", {2, 1, 4});  // rows of tiles
    const Var strips = schedule_output(cpu.lanes, o, strip);
    schedule_image(cpu.lanes, o, strips);
    schedule_filter(cpu.lanes);
    schedule_product(cpu, o, strips);
}

Var Winograd::schedule_output(int v, Func o, int strip) const {
    Var strips, rows;
    const Var images = o.args()[3];
    o.split(o.args()[1], strips, rows, 2 * strip, TailStrategy::GuardWithIf);
    const TileLoops t = split_into_tiles(o, rows, rows, block_, v);
    o.reorder(t.lane, t.x_in_tile, rows, t.x, t.vector, t.block, t.y, strips, images);
    o.vectorize(t.lane).parallel(strips).parallel(images);
    compute_tile_at(tile_, rows_, o, t.x, v);
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    o.specialize(extent(2) % block_ == 0 && extent(0) % 2 == 0 && extent(1) % 2 == 0)
        .unroll(t.x_in_tile)
        .unroll(rows);
    return strips;
}

void Winograd::schedule_image(int v, const Func &o, const Var &strip) const {
    const TailStrategy up = TailStrategy::RoundUp;
    Func padded = padded_;
    Func columns = columns_;
    Func image = image_;
    Var co, ci;
    padded.compute_root().reorder(c, x, y, n).vectorize(c, v, up).parallel(y).parallel(n);
    image.compute_at(o, strip)
        .split(c, co, ci, v, up)
        .reorder(ci, i, j, co, tx, ty, n)
        .vectorize(ci)
        .bound(i, 0, 4)
        .bound(j, 0, 4)
        .unroll(i)
        .unroll(j);
    columns.compute_at(image, co).bound_extent(c, v).vectorize(c, v).unroll(i).unroll(j);
}

void Winograd::schedule_filter(int v) const {
    Func filter_columns = filter_columns_;
    Func filter = filter_;
    Var inner;
    filter.compute_root()
        .parallel(ko)
        .split(ki, ki, inner, v)
        .reorder(inner, i, j, ki, c, ko)
        .vectorize(inner)
        .bound(i, 0, 4)
        .bound(j, 0, 4)
        .unroll(i)
        .unroll(j);
    filter_columns.compute_at(filter, ki).vectorize(ki, v).unroll(i).unroll(y);
}

void Winograd::schedule_product(const Cpu &cpu, const Func &o, const Var &strip) const {
    const TailStrategy up = TailStrategy::RoundUp;
    const int v = cpu.lanes;
    const int across = cpu.pick("tiles_x", {cpu.has_32_registers() ? 7 : 4});
    const int down = cpu.pick("tiles_y", {cpu.has_32_registers() ? 2 : 1});
    Func sum = sum_;
    Func product = product_;
    Var to, ti, so, si;
    product.compute_at(o, strip)
        .split(tx, to, ti, across, up)
        .split(ty, so, si, down, up)
        .bound_extent(ki, block_)
        .reorder(ki, ti, si, to, so, ko, i, j, n);
    product.vectorize(ki, v).unroll(ki).unroll(ti).unroll(si);
    sum.compute_at(product, to)
        .bound_extent(ki, block_)
        .bound_extent(tx, across)
        .bound_extent(ty, down)
        .vectorize(ki, v)
        .unroll(ki)
        .unroll(tx)
        .unroll(ty);
    sum.update().reorder(ki, tx, ty, r_, i, j).vectorize(ki, v).unroll(ki).unroll(tx).unroll(ty);
}

void SmallMapsWinograd::define(const Func &image, const Func &run, int per, bool rotated,
                               const Expr &shift_x, const Expr &shift_y, const Expr &channels,
                               const Expr &w, const Expr &h, const Expr &images, int lanes) {
    block_ = 2 * lanes;
    per_ = per;
    run_ = run;
    tiles_x_ = max((w + 1) / 2, 1);
    tiles_ = max(tiles_x_ * ((h + 1) / 2), 1);
    const Expr tx = t % tiles_ % tiles_x_;
    const Expr ty = t % tiles_ / tiles_x_;
    const Expr in = clamp(t / tiles_, 0, images - 1);
    padded_(c, x, y, n) = image(x + shift_x, y + shift_y, c, n);
    columns_(c, i, j,
             t) = choose(i, times_b([&](int z) { return padded_(c, tx * 2 + z, ty * 2 + j, in); }));
    image_(c, t, i, j,
           b) = choose(j, times_b([&](int z) { return columns_(b * lanes + c, i, z, t); }));
    bank_(ki, l, b, ko) = run(l, ko * block_ + ki, b);
    const auto tap = [&](const Expr &v, const Expr &u) {
        return bank_(ki, c % per * 9 + (rotated ? 8 - (u * 3 + v) : u * 3 + v), c / per, ko);
    };
    filter_columns_(ki, c, i, y, ko) = choose(i, times_g([&](int z) { return tap(z, y); }));
    filter_(ki, i, j, c,
            ko) = choose(j, times_g([&](int z) { return filter_columns_(ki, c, i, z, ko); }));
    image_.compute_root();
    filter_.compute_root();  // as in Winograd::define()
    r_ = RDom(0, lanes);
    rb_ = RDom(0, channels / lanes);
    part_(ki, t, ko, i, j, b) += filter_(ki, i, j, b * lanes + r_, ko) * image_(r_, t, i, j, b);
    product_(ki, t, ko, i, j) += part_(ki, t, ko, i, j, rb_);
    rows_(k, x, j,
          t) = choose(x, times_a([&](int z) { return product_(k % block_, t, k / block_, z, j); }));
    tile_(k, x, y, t) = choose(y, times_a([&](int z) { return rows_(k, x, z, t); }));
}

Expr SmallMapsWinograd::at(const Expr &ax, const Expr &ay, const Expr &ak, const Expr &an) const {
    return tile_(ak, ax % 2, ay % 2, ax / 2 + ay / 2 * tiles_x_ + an * tiles_);
}

// The times beside oneDNN's: docs/kernel_measurements.md, "Winograd".
void SmallMapsWinograd::schedule(const Cpu &cpu, Func o, int default_tiles) const {
    const int across = cpu.pick(tiles, {cpu.has_32_registers() ? default_tiles : 4});
    const Var block = schedule_output(cpu.lanes, o);
    schedule_image(cpu.lanes);
    schedule_product(cpu.lanes, o, block, across);
    schedule_filter(cpu.lanes);
}

// Returns the loop over blocks of output channels.
Var SmallMapsWinograd::schedule_output(int v, Func o) const {
    Var y_in_tile;
    const TileLoops t = split_into_tiles(o, o.args()[1], y_in_tile, block_, v);
    const Var images = o.args()[3];
    o.reorder(t.lane, t.x_in_tile, y_in_tile, t.x, t.vector, t.y, images, t.block)
        .vectorize(t.lane)
        .parallel(t.block);
    compute_tile_at(tile_, rows_, o, t.x, v);
    return t.block;
}

void SmallMapsWinograd::schedule_image(int v) const {
    Func padded = padded_;
    Func columns = columns_;
    Func image = image_;
    image.compute_root()
        .bound(c, 0, v)
        .reorder(c, i, j, t, b)
        .vectorize(c)
        .bound(i, 0, 4)
        .bound(j, 0, 4)
        .unroll(i)
        .unroll(j)
        .parallel(b);
    padded.compute_at(image, b).bound_extent(c, v).reorder(c, x, y, n).vectorize(c);
    columns.compute_at(image, t).bound_extent(c, v).vectorize(c, v).unroll(i).unroll(j);
}

// Filters are transposed in registers, 4 x 4 values at a time, which is faster than 8 x 8.
void SmallMapsWinograd::schedule_filter(int v) const {
    Func run = run_;
    Func bank = bank_;
    Func filter_columns = filter_columns_;
    Func filter = filter_;
    Var lo, li, inner;
    const Var from = run.args()[0];
    const Var of = run.args()[1];
    bank.compute_at(product_, rb_)
        .bound_extent(ki, block_)
        .bound_extent(l, 9 * per_)
        .split(ki, ki, inner, 4, TailStrategy::RoundUp)
        .split(l, lo, li, 4, TailStrategy::ShiftInwards);
    bank.reorder(inner, li, lo, ki, b).vectorize(inner).unroll(li);
    run.compute_at(bank, lo).bound_extent(from, 4).bound_extent(of, 4).vectorize(from).unroll(of);
    filter.compute_at(product_, rb_)
        .bound_extent(ki, block_)
        .bound_extent(c, v)
        .split(ki, ki, inner, v)
        .reorder(inner, i, j, ki, c, ko)
        .vectorize(inner);
    filter.bound(i, 0, 4).bound(j, 0, 4).unroll(i).unroll(j);
    filter_columns.compute_at(filter, ki).vectorize(ki, v).unroll(i).unroll(y);
}

void SmallMapsWinograd::schedule_product(int v, const Func &o, const Var &block, int across) const {
    Func part = part_;
    Func product = product_;
    Var to, ti;
    product.compute_at(o, block).bound_extent(ki, block_).vectorize(ki, v).unroll(ki);
    product.update()
        .split(t, to, ti, across, TailStrategy::RoundUp)
        .reorder(ki, ti, to, ko, i, j, rb_)
        .vectorize(ki, v)
        .unroll(ki)
        .unroll(ti);
    part.compute_at(product, to)
        .bound_extent(ki, block_)
        .bound_extent(t, across)
        .vectorize(ki, v)
        .unroll(ki)
        .unroll(t);
    part.update().reorder(ki, t, r_, i, j).vectorize(ki, v).unroll(ki).unroll(t);
}

void WinogradTaps::define(const Func &image, const Func &dy, const Expr &shift_x,
                          const Expr &shift_y, const Expr &w, const Expr &h, const Expr &images,
                          int lanes) {
    depth_ = 2 * lanes;
    const Expr tiles_x = max((w + 1) / 2, 1);
    const Expr tiles = max(tiles_x * ((h + 1) / 2), 1);
    const Expr tx = t % tiles % tiles_x;
    const Expr ty = t % tiles / tiles_x;
    const Expr in = clamp(t / tiles, 0, images - 1);
    padded_(c, x, y, n) = image(x + shift_x, y + shift_y, c, n);
    columns_(c, i, j,
             t) = choose(i, times_b([&](int z) { return padded_(c, tx * 2 + z, ty * 2 + j, in); }));
    image_(c, t, i, j,
           b) = choose(j, times_b([&](int z) { return columns_(b * depth_ + c, i, z, t); }));
    dy_columns_(k, i, y, t, ko) = choose(
        i, times_g_of_2([&](int z) { return dy(tx * 2 + z, ty * 2 + y, ko * outs_ + k, in); }));
    dy_(k, t, i, j, ko) = choose(j,
                                 times_g_of_2([&](int z) { return dy_columns_(k, i, z, t, ko); }));
    image_.compute_root();
    dy_.compute_root();  // as in Winograd::define()
    r_ = RDom(0, tiles * images);
    sum_(c, k, i, j, b, ko) += image_(c, r_, i, j, b) * dy_(k, r_, i, j, ko);
    product_(c, k, i, j, b, ko) = sum_(c, k, i, j, b, ko);
    rows_(c, k, x, j, b,
          ko) = choose(x, times_a_of_3([&](int z) { return product_(c, k, z, j, b, ko); }));
    taps_(c, k, x, y, b,
          ko) = choose(y, times_a_of_3([&](int z) { return rows_(c, k, x, z, b, ko); }));
}

Expr WinogradTaps::at(const Expr &av, const Expr &au, const Expr &ac, const Expr &ak) const {
    return taps_(ac % depth_, ak % outs_, av, au, ac / depth_, ak / outs_);
}

// The times beside oneDNN's: docs/kernel_measurements.md, "Winograd".
void WinogradTaps::schedule(const Cpu &cpu, Func o) const {
    const TailStrategy guard = TailStrategy::GuardWithIf;
    const int v = cpu.lanes;
    Func padded = padded_;
    Func columns = columns_;
    Func image = image_;
    Func dy_columns = dy_columns_;
    Func dy = dy_;
    Func sum = sum_;
    Func product = product_;
    Func rows = rows_;
    Func taps = taps_;
    Var cb, ci, kb, ki;
    Var ov = o.args()[0];
    Var ou = o.args()[1];
    Var oc = o.args()[2];
    Var ok = o.args()[3];
    o.bound(ov, 0, 3)
        .bound(ou, 0, 3)
        .split(oc, cb, ci, depth_, guard)
        .split(ok, kb, ki, outs_, guard);
    o.reorder(ci, ov, ou, ki, kb, cb).vectorize(ci, v).unroll(ov).unroll(ou).parallel(cb);
    image.bound(c, 0, depth_)
        .reorder(c, i, j, t, b)
        .vectorize(c, v)
        .bound(i, 0, 4)
        .bound(j, 0, 4)
        .unroll(i)
        .unroll(j)
        .parallel(b);
    padded.compute_at(image, b).bound_extent(c, depth_).reorder(c, x, y, n).vectorize(c, v);
    columns.compute_at(image, t).bound_extent(c, depth_).vectorize(c, v).unroll(i).unroll(j);
    dy.bound(k, 0, outs_)
        .reorder(k, i, j, t, ko)
        .vectorize(k)
        .bound(i, 0, 4)
        .bound(j, 0, 4)
        .unroll(i)
        .unroll(j)
        .parallel(ko);
    dy_columns.compute_at(dy, t).bound_extent(k, outs_).vectorize(k).unroll(i).unroll(y);
    product.compute_at(o, kb)
        .bound_extent(c, depth_)
        .bound_extent(k, outs_)
        .bound(i, 0, 4)
        .bound(j, 0, 4)
        .reorder(c, k, i, j, b, ko)
        .vectorize(c, v)
        .unroll(c)
        .unroll(k);
    sum.compute_at(product, i)
        .bound_extent(c, depth_)
        .bound_extent(k, outs_)
        .vectorize(c, v)
        .unroll(c)
        .unroll(k);
    sum.update().reorder(c, k, r_).vectorize(c, v).unroll(c).unroll(k);
    taps.compute_at(o, ki).bound_extent(c, depth_).vectorize(c, v).unroll(x).unroll(y);
    rows.compute_at(o, ki).bound_extent(c, depth_).vectorize(c, v).unroll(x).unroll(j);
}

}  // namespace halyard
