#include "dsl/ascend/convolution/convolution.h"

#include <algorithm>

#include "dsl/ascend/convolution/image.h"
#include "dsl/ascend/lowering/fractals.h"
#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/vector.h"
#include "registry/base/integer.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;
using dv::Scope;

namespace {

// Bytes of a slot for filters in l1, of which there are two.
constexpr int64_t filters_at_once = 1 << 17;

}  // namespace

int64_t Filters::size() const {
    const int64_t in = transposed ? o : c;
    const int64_t out = transposed ? c : o;
    return group * fractals_of(in) * taps * fractals_of(out) * fractal_size;
}

// Converts blocks of 16 filters x 16 channels: [o][c, tap] -> [c, tap][o] -> [tap][c][o] ->
// [tap][o][c].
void filters_to_fractals(Writer &w, const Filters &f) {
    const int64_t o1 = fractals_of(f.o);
    const int64_t c1 = fractals_of(f.c);
    const int64_t taps = f.taps;
    const int64_t row = fractal_side * taps;
    w.program.blocks = f.group * o1 * c1;
    const Expr block = Expr::var("block_idx");
    const Expr g = block / (o1 * c1);
    const Expr o = block / c1 % o1;
    const Expr c = block % c1;
    const Expr rows = f.o % fractal_side ? min(fractal_side, f.o - o * fractal_side)
                                         : Expr(fractal_side);
    const Expr channels = f.c % fractal_side ? min(fractal_side, f.c - c * fractal_side)
                                             : Expr(fractal_side);
    const Ref in_rows = w.buffer("rows_ub", Scope::ub, DType::f16, fractal_side * row);
    const Ref blocks = w.temporary(DType::f16, fractal_side * row);
    const Ref columns = w.temporary(DType::f16, fractal_side * row + fractal_size);
    const Ref by_tap = w.buffer("taps_ub", Scope::ub, DType::f16, fractal_side * row);
    const auto zeros = [&](const Ref &at, int64_t n) { Vectors(w, {n}).fill({at, {1}}, {"", 0}); };
    if (f.o % fractal_side || f.c % fractal_side) zeros(in_rows, fractal_side * row);
    const Ref from = in_gm(f.from, ((g * f.o + o * fractal_side) * f.c + c * fractal_side) * taps);
    rows_of_channels(w, {in_rows, row}, {from, f.c * taps}, rows,
                     (channels * taps + (fractal_side - 1)) / fractal_side);
    move_blocks(w, {blocks, 1, fractal_side}, {in_rows, taps, 1}, fractal_side, taps);
    transpose_squares(w, columns, blocks, taps);
    // The last block of a row has elements beyond its last channel.
    if (f.c % fractal_side) zeros(moved(columns, channels * row), fractal_size);
    const Ref transposed = f.transposed ? by_tap : blocks;
    move_blocks(w, {transposed, 1, fractal_side}, {columns, taps, 1}, fractal_side, taps);
    if (f.transposed) {
        w.loop("tap", taps, [&](const Expr &t) {
            const Expr at = ((g * o1 + o) * taps + (taps - 1 - t)) * c1 + c;
            w.emit(dv::Dma{in_gm(f.to, at * fractal_size), moved(by_tap, t * fractal_size), 1,
                           fractal_side, 0, 0});
        });
    } else {
        transpose_squares(w, by_tap, transposed, taps);
        const Expr at = (g * c1 + c) * (taps * o1) + o;
        w.emit(dv::Dma{in_gm(f.to, at * fractal_size), by_tap, taps, fractal_side, 0,
                       (o1 - 1) * fractal_side});
    }
}

namespace {

class Correlate {
public:
    Correlate(Writer &w, const Correlation &c, const CorrelationTensors &t, int shrink)
        : w_(w), c_(c), t_(t), c1_(fractals_of(c.c)), o1_(fractals_of(c.o)),
          wide_(even_part(o1_, 8)),
          lines_(c, std::max<int64_t>(
                        fractal_side,
                        std::min<int64_t>(512, half(Scope::l0c, 4) / (wide_ * fractal_side)) >>
                            shrink)),
          image_(w, c_, lines_, t.image), pixels_(whole_fractals(lines_.results())) {
        const int64_t at_once = std::max<int64_t>(
            1, std::min(half(Scope::l0b, 2) / (pixels_ * fractal_side),
                        half(Scope::l0a, 2) / (wide_ * fractal_size)));
        step_ = std::min(c1_, std::max<int64_t>(1, at_once / c_.taps()));
        while (image_.blocks_at_once() % step_)
            step_--;
        deep_ = even_part(step_ * c_.taps(), at_once);
        chunk_ = std::max<int64_t>(1, filters_at_once /
                                          (step_ * c_.taps() * wide_ * dv::fractal_bytes)) *
                 step_;
        chunk_ = std::min(chunk_, ceil_div(c1_, step_) * step_);
    }

    // Emits the program. The work is divided into tiles of images. While one is multiplied, the
    // next one is loaded to l1.
    void write() {
        const int64_t cores = int64_t(w_.program.chip().at("cores"));
        const int64_t tiles_o = ceil_div(o1_, wide_);
        const int64_t maps = c_.n * c_.group;
        const bool separate_lines = lines_.tile * lines_.tiles == lines_.count &&
                                    lines_.results() >= fractal_side;
        few_ = maps * (separate_lines ? lines_.tiles : 1) < cores && o1_ % wide_ == 0;
        const int64_t parts = maps * (few_ ? tiles_o : 1);
        const int64_t all = parts * lines_.tiles;
        const int64_t unit = separate_lines ? 1 : lines_.tiles;
        // Results of one store may be less than a block of GM: then one core stores all of them.
        const int64_t fewest = c_.o % fractal_side ? c_.o % fractal_side : fractal_side;
        const bool together = lines_.results() * (lines_.tiles == 1 ? fewest : 1) < fractal_side;
        const int64_t each = together ? all : ceil_div(all / unit, cores) * unit;
        w_.program.blocks = ceil_div(all, each);
        const Expr first = Expr::var("block_idx") * each;
        const Expr count = all % each ? min(each, all - first) : Expr(each);
        declare(each > 1 ? 2 : 1);
        last_ = count - 1;
        if (each == 1) {
            w_.loop("c", ceil_div(c1_, image_.blocks_at_once()),
                    [&](const Expr &i) { load_image(first, 0, i * image_.blocks_at_once()); });
            return multiply(
                first, 0, [](const Expr &, const Expr &) {}, [] {});
        }
        // The flags of the two slots for images are set here, because insert_sync() doesn't look a
        // step ahead: a slot is full, or free. The queues of instructions are short, so the loads
        // of the next image are issued between the steps of the products.
        const dv::Pipe in = dv::Pipe::mte3;
        const dv::Pipe out = dv::Pipe::mte1;
        w_.emit(dv::SetFlag{in, out, 1});
        w_.emit(dv::SetFlag{out, in, 0});
        w_.loop("part", 0, count + 1, [&](const Expr &i) {
            w_.emit(dv::WaitFlag{in, out, (i + 1) % 2});
            w_.emit(dv::WaitFlag{out, in, i % 2});
            const auto next = [&](const Expr &c, const Expr &c1) {
                w_.branch(i < count, w_.nested([&] {
                    if (image_.blocks_at_once() > 1) {
                        return w_.branch(c % image_.blocks_at_once() == 0,
                                         w_.nested([&] { load_image(first + i, i, c); }), {});
                    }
                    w_.loop("c", 0, c1, [&](const Expr &k) { load_image(first + i, i, c + k); });
                }),
                          {});
            };
            multiply(first + i - 1, i - 1, next, [&] { w_.emit(dv::SetFlag{in, out, i % 2}); });
            w_.emit(dv::SetFlag{out, in, (i + 1) % 2});
        });
        w_.emit(dv::WaitFlag{in, out, count % 2});
        w_.emit(dv::WaitFlag{out, in, (count + 1) % 2});
    }

private:
    Writer &w_;
    const Correlation &c_;
    const CorrelationTensors &t_;
    const int64_t c1_, o1_, wide_;  // blocks of channels, of filters, of filters at once
    const Lines lines_;
    Image image_;
    const int64_t pixels_;  // results of a tile, in whole fractals
    int64_t deep_ = 1;      // columns of fractals of a slice in l0a and l0b
    int64_t step_ = 1;      // blocks of channels of a step, which has one or several slices
    int64_t chunk_ = 1;     // blocks of channels whose filters are in l1 together
    bool few_ = false;      // there are fewer images than cores, which divide the filters, too
    bool stay_ = false;     // all filters are in l1 all the time
    Expr last_;             // the last iteration of a block
    Ref image_l1_, filters_l1_, l0a_, l0b_, sums_, results_ub_;

    int64_t half(Scope s, int64_t element) const {
        return w_.program.chip().bytes(s) / 2 / element;
    }
    int64_t tiles_o() const { return ceil_div(o1_, wide_); }
    struct Where : Image::Where {
        Expr o;  // the tile of filters
    };
    Where where(const Expr &part) const {
        const Expr map = part / lines_.tiles;
        const Expr og = few_ ? map / tiles_o() : map;
        return {{og / c_.group, og % c_.group, part % lines_.tiles},
                few_ ? map % tiles_o() : Expr(0)};
    }
    // Declares all buffers outside of the loops: none of them waits for another one in its memory.
    void declare(int images) {
        const int64_t columns = chunk_ * c_.taps() * wide_ * fractal_size;
        stay_ = c_.group == 1 && wide_ == o1_ && chunk_ >= c1_;
        image_.declare();
        image_l1_ = w_.ring("image_l1", Scope::l1, DType::f16, c1_ * image_.size(), images);
        filters_l1_ = w_.ring("filters_l1", Scope::l1, DType::f16, columns, stay_ ? 1 : 2);
        l0a_ = w_.ring("a_l0a", Scope::l0a, DType::f16, deep_ * wide_ * fractal_size);
        l0b_ = w_.ring("b_l0b", Scope::l0b, DType::f16, pixels_ * deep_ * fractal_side);
        sums_ = w_.ring("sums", Scope::l0c, DType::f32, pixels_ * wide_ * fractal_side);
        results_ub_ = w_.ring("results_ub", Scope::ub, DType::f16, pixels_ * fractal_side);
        if (stay_) {
            w_.emit(dv::Dma{filters_l1_, in_gm(t_.fractals, 0), 1,
                            c1_ * c_.taps() * wide_ * fractal_side, 0, 0});
        }
    }
    static Ref slot(Ref r, const Expr &turn) {
        r.slot = turn % 2;
        return r;
    }
    // Loads the blocks of channels from c on that are loaded together.
    void load_image(const Expr &part, const Expr &turn, const Expr &c) {
        const int64_t together = image_.blocks_at_once();
        const int64_t calls = ceil_div(c1_, together);
        const Expr count = c1_ % together ? min(together, c1_ - c) : Expr(together);
        image_.load(moved(slot(image_l1_, turn), c * image_.size()), turn * calls + c / together,
                    where(part), c, count);
    }

    // Multiplies a loaded part. Before each step it emits next(c, c1), which loads `c1` blocks of
    // channels of the next part, and at the end loaded().
    template<class F, class G> void multiply(const Expr &part, const Expr &turn, F next, G loaded) {
        const Where at = where(part);
        const int64_t tiles = few_ ? 1 : tiles_o();
        const auto first = [&](const Expr &o) {
            return min((few_ ? at.o : o) * wide_, o1_ - wide_);
        };  // the last tile may overlap the one before it
        product(at, first(0), turn, turn * tiles, next);
        loaded();
        if_loaded(turn, [&] {
            results(at, first(0), slot(sums_, turn * tiles), tiles == 1 ? turn == last_ : Expr(0));
        });
        if (tiles == 1) return;
        w_.loop("o", 1, tiles, [&](const Expr &o) {
            product(at, first(o), turn, turn * tiles + o, nothing);
            if_loaded(turn, [&] {
                results(at, first(o), slot(sums_, turn * tiles + o),
                        turn == last_ && o + 1 == tiles);
            });
        });
    }
    static void nothing(const Expr &, const Expr &) {}
    // Emits body(), unless no image has been loaded (turn < 0). Results that the scalar unit
    // assembles delay later images; a barrier in the other branch does so, too.
    template<class F> void if_loaded(const Expr &turn, F body) {
        if (turn.constant()) return body();
        dv::Body barrier;
        if (lines_.results() % fractal_side) barrier = w_.nested([&] { w_.emit(dv::Barrier{}); });
        w_.branch(Expr(0) <= turn, w_.nested(body), barrier);
    }

    // Multiplies one tile of results. `turn` is the number of the image's tile, `product` that of
    // the result's.
    template<class F> void product(const Where &at, const Expr &first, const Expr &turn,
                                   const Expr &product, F next) {
        const int64_t chunks = ceil_div(c1_, chunk_);
        const int64_t taps = c_.taps();
        const int64_t slices_of_step = ceil_div(step_ * taps, deep_);
        const Ref image = slot(image_l1_, turn);
        const Ref sums = slot(sums_, product);
        w_.loop("chunk", chunks, [&](const Expr &i) {
            const Expr c = i * chunk_;
            const Expr c1 = c1_ % chunk_ ? min(chunk_, c1_ - c) : Expr(chunk_);
            const Ref b = stay_ ? filters_l1_ : slot(filters_l1_, product * chunks + i);
            const Ref from = in_gm(t_.fractals,
                                   ((at.g * c1_ + c) * (taps * o1_) + first) * fractal_size);
            if (!stay_) {
                if_loaded(turn, [&] {
                    if (wide_ == o1_)
                        w_.emit(dv::Dma{b, from, 1, c1 * (taps * wide_ * fractal_side), 0, 0});
                    else {
                        w_.emit(dv::Dma{b, from, c1 * taps, wide_ * fractal_side,
                                        (o1_ - wide_) * fractal_side, 0});
                    }
                });
            }
            w_.loop("step", 0, (c1 + (step_ - 1)) / step_, [&](const Expr &s) {
                const Expr k = s * step_;
                const Expr count = c1_ % step_ ? min(step_, c1 - k) : Expr(step_);
                next(c + k, count);
                if_loaded(turn, [&] {
                    slices(at, moved(image, (c + k) * image_.size()), count * taps,
                           moved(b, k * (taps * wide_ * fractal_size)), sums,
                           (c / step_ + s) * slices_of_step);
                });
            });
        });
    }

    // Multiplies filters by `columns` columns of fractals of im2col, in slices that fit l0a and
    // l0b. `earlier` is the number of slices before.
    void slices(const Where &at, const Ref &image, const Expr &columns, const Ref &b,
                const Ref &sums, const Expr &earlier) {
        const auto known = columns.constant();
        const int64_t taps = c_.taps();
        w_.loop("slice", 0, (columns + (deep_ - 1)) / deep_, [&](const Expr &i) {
            const Expr first = i * deep_;
            const Expr count = known && *known % deep_ == 0 ? Expr(deep_)
                                                            : min(deep_, columns - first);
            const Expr turn = earlier + i;
            const Ref l0a = slot(l0a_, turn);
            const Ref l0b = slot(l0b_, turn);
            w_.loop("f", wide_, [&](const Expr &f) {
                load(moved(l0a, f * count * fractal_size),
                     moved(b, (first * wide_ + f) * fractal_size), count, wide_);
            });
            w_.loop("k", 0, count, [&](const Expr &k) {
                const Ref to = moved(l0b, k * (pixels_ * fractal_side));
                const Ref channels = moved(image, (first + k) / taps * image_.size());
                if (c_.is_pointwise()) return load(to, channels, pixels_ / fractal_side, 1);
                dv::Load3d l = image_.rows(to, channels, at.lines);
                l.k_start = (first + k) % taps * fractal_side;
                l.k_extent = fractal_side;
                w_.emit(l);
            });
            dv::Mmad mmad;
            mmad.dst = sums;
            mmad.a = l0a;
            mmad.b = l0b;
            mmad.m = wide_ * fractal_side;
            mmad.k = count * fractal_side;
            mmad.n = pixels_;
            mmad.accumulate = turn;
            w_.emit(mmad);
        });
    }
    void load(const Ref &dst, const Ref &src, const Expr &count, int64_t stride) {
        dv::Load2d l;
        l.dst = dst;
        l.src = src;
        l.repeat = count;
        l.src_stride = stride;
        w_.emit(l);
    }

    // Stores the sums, [pixels / 16][filters][16], as rows of pixels, 16 filters at a time.
    void results(const Where &at, const Expr &first, const Ref &sums, const Expr &is_last) {
        const int64_t map = lines_.count * lines_.pixels;
        const int64_t last = c_.o % fractal_side;
        const auto block = [&](const Expr &o, int64_t filters) {
            const int64_t squares = pixels_ / fractal_side;
            const Ref sorted = w_.temporary(DType::f16, pixels_ * fractal_side);
            const Ref rows = slot(results_ub_, o);
            dv::CcToUb c;
            c.dst = sorted;
            c.src = moved(sums, o * fractal_size);
            c.nburst = squares;
            c.burst = 1;
            c.src_gap = wide_ - 1;
            w_.emit(c);
            move_blocks(w_, {rows, squares, 1}, {sorted, 1, fractal_side}, fractal_side, squares);
            w_.give_back(sorted);
            const Expr to = ((at.n * c_.group + at.g) * c_.o + (first + o) * fractal_side) * map +
                            lines_.first(at.lines) * lines_.pixels;
            write_rows(rows, to, filters, map, is_last && o + 1 == wide_);
        };
        if (!last) return w_.loop("f", wide_, [&](const Expr &o) { block(o, fractal_side); });
        if (wide_ > 1) w_.loop("f", wide_ - 1, [&](const Expr &o) { block(o, fractal_side); });
        if (wide_ == o1_) return block(wide_ - 1, last);
        const Expr ends = first + wide_ == o1_;
        w_.branch(ends, w_.nested([&] { block(wide_ - 1, last); }), {});
        w_.branch(Expr(1) - ends, w_.nested([&] { block(wide_ - 1, fractal_side); }), {});
    }

    // Rows that don't end with a block are written beyond their end, into what this core writes
    // next; the last row of all isn't.
    void write_rows(const Ref &rows, const Expr &to, int64_t count, int64_t map,
                    const Expr &is_last) {
        const int64_t results = lines_.results();
        const Ref out = in_gm(t_.out, to);
        if (results % fractal_side == 0 || results < fractal_side || lines_.tiles > 1)
            return move(w_, {count, results}, {out, {map, 1}, Scope::gm}, {rows, {pixels_, 1}});
        w_.loop("row", 0, count - is_last, [&](const Expr &r) {
            w_.emit(dv::Dma{moved(out, r * map), moved(rows, r * pixels_), 1,
                            pixels_ / fractal_side, 0, 0});
        });
        w_.branch(is_last, w_.nested([&] {
            move(w_, {1, results}, {moved(out, (count - 1) * map), {map, 1}, Scope::gm},
                 {moved(rows, (count - 1) * pixels_), {pixels_, 1}});
        }),
                  {});
    }
};

}  // namespace

void correlate(Writer &w, const Correlation &c, const CorrelationTensors &t, int shrink) {
    Correlate(w, c, t, shrink).write();
}

}  // namespace halyard::ascend
