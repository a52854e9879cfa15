// The gradient of filters: the product of dout, [o][pixels], and im2col, [pixels][taps x 16
// channels], summed over all tiles of all images.
#include <algorithm>

#include "dsl/ascend/convolution/image.h"
#include "dsl/ascend/lowering/fractals.h"
#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/vector.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;
using dv::Scope;

namespace {

class FilterGradient {
public:
    FilterGradient(Writer &w, const Correlation &c, const std::string &image,
                   const std::string &dout, const std::string &dfilters, int shrink)
        : w_(w), c_(c), dout_(dout), dfilters_(dfilters), c1_(fractals_of(c.c)),
          o1_(fractals_of(c.o)), taps_(c.taps()),
          wide_(largest_divisor(
              o1_, std::min(fractals_in(Scope::l0c, 4) / taps_, fractals_in(Scope::l0a, 2) / 2))),
          lines_(c, std::max<int64_t>(fractal_side, max_results >> shrink), true),
          image_(w, c_, lines_, image), pitch_(whole_fractals(lines_.results())),
          deep_(std::max<int64_t>(1, fractals_in(Scope::l0a, 2) / 2 / std::max(wide_, taps_))) {}

    // Emits the program. A block computes some filters and 16 channels of them.
    void write() {
        const int64_t tiles = o1_ / wide_;
        const int64_t blocks = c_.group * tiles * c1_;
        const auto of = [&](const Expr &i) {
            block(i / (tiles * c1_), i / c1_ % tiles * wide_, i % c1_);
        };
        // Results of one store may be less than a block of GM: then one core stores all of them.
        const auto last = [](int64_t n) {
            return n % fractal_side ? n % fractal_side : fractal_side;
        };
        const bool together = last(c_.c) * taps_ * (c1_ == 1 ? last(c_.o) : 1) < fractal_side;
        if (together || blocks == 1) return w_.loop("block", blocks, of);
        w_.program.blocks = blocks;
        of(Expr::var("block_idx"));
    }

private:
    static constexpr int64_t max_results = 512;  // the results of a tile
    Writer &w_;
    const Correlation &c_;
    const std::string dout_, dfilters_;
    // blocks of channels, of filters; taps; blocks of filters at once
    const int64_t c1_, o1_, taps_, wide_;
    const Lines lines_;
    Image image_;
    // pitch_: results of a tile, in whole fractals. deep_: fractals of them in l0a and l0b.
    const int64_t pitch_, deep_;

    int64_t fractals_in(Scope s, int64_t element) const {
        return w_.program.chip().bytes(s) / (element * fractal_size);
    }
    static int64_t largest_divisor(int64_t n, int64_t limit) {
        int64_t d = std::min(n, limit);
        while (n % d)
            d--;
        return d;
    }

    void block(const Expr &g, const Expr &o, const Expr &c) {
        const Ref sums = w_.buffer("sums", Scope::l0c, DType::f32, wide_ * taps_ * fractal_size);
        image_.declare();
        w_.loop("part", c_.n * lines_.tiles, [&](const Expr &part) {
            const Expr n = part / lines_.tiles;
            const Expr lines = part % lines_.tiles;
            const Ref image = w_.double_buffer("image_l1", Scope::l1, DType::f16, image_.size());
            image_.load(image, part, {n, g, lines}, c, 1);
            const Ref left = load_gradients(n, g, o, lines);
            const int64_t results = lines_.results();
            const int64_t at_once = deep_ * fractal_side;
            w_.loop("slice", (results + at_once - 1) / at_once, [&](const Expr &i) {
                slice(image, lines, left, i * deep_,
                      results % at_once ? min(at_once, results - i * at_once) : Expr(at_once), sums,
                      part + i);
            });
        });
        each_filter(o, [&](const Expr &i, int64_t rows) { results(g, o, c, i, rows, sums); });
    }

    // Calls f(i, rows) for the blocks of filters from `first` on; the last one may have fewer than
    // 16 rows.
    template<class F> void each_filter(const Expr &first, F f) {
        const int64_t last = c_.o % fractal_side;
        if (const int64_t whole = wide_ - (last != 0))
            w_.loop("o", whole, [&](const Expr &i) { f(i, fractal_side); });
        if (!last) return;
        if (wide_ == o1_) return w_.scope([&] { f(wide_ - 1, last); });
        w_.branch(first + wide_ == o1_, w_.nested([&] { f(wide_ - 1, last); }),
                  w_.nested([&] { f(wide_ - 1, fractal_side); }));
    }

    // Loads dout of a tile as [pixels / 16][filters][16 pixels].
    Ref load_gradients(const Expr &n, const Expr &g, const Expr &o, const Expr &lines) {
        const int64_t map = lines_.count * lines_.pixels;
        const int64_t k1 = pitch_ / fractal_side;
        const Ref l1 = w_.double_buffer("dout_l1", Scope::l1, DType::f16,
                                        wide_ * fractal_side * pitch_);
        w_.loop("o", wide_, [&](const Expr &i) {
            const Ref ub = w_.double_buffer("dout_ub", Scope::ub, DType::f16,
                                            fractal_side * pitch_);
            const Expr rows = c_.o % fractal_side ? min(fractal_side, c_.o - (o + i) * fractal_side)
                                                  : Expr(fractal_side);
            if (c_.o % fractal_side) Vectors(w_, {fractal_side * pitch_}).fill({ub, {1}}, {"", 0});
            const Expr from = ((n * c_.group + g) * c_.o + (o + i) * fractal_side) * map +
                              lines_.first(lines) * lines_.pixels;
            rows_of_channels(w_, {ub, pitch_}, {in_gm(dout_, from), map}, rows, k1);
            w_.loop("k", k1, [&](const Expr &k) {
                w_.emit(dv::Dma{moved(l1, (k * wide_ + i) * fractal_size),
                                moved(ub, k * fractal_side), fractal_side, 1, k1 - 1, 0});
            });
        });
        return l1;
    }

    // Multiplies a slice of pixels. They are rows of load3d, but the depth of this product, so
    // load2d transposes the squares, which takes a way through the Unified Buffer.
    void slice(const Ref &image, const Expr &lines, const Ref &left, const Expr &first,
               const Expr &pixels, const Ref &sums, const Expr &earlier) {
        const int64_t size = deep_ * taps_ * fractal_size;
        const Expr k1 = (pixels + (fractal_side - 1)) / fractal_side;
        const Expr squares = k1 * taps_;
        const Ref ub = w_.double_buffer("b_ub", Scope::ub, DType::f16, size);
        const Ref l1 = w_.double_buffer("b_l1", Scope::l1, DType::f16, size);
        dv::Load3d rows = image_.rows(ub, image, lines);
        rows.m_start = first * fractal_side;
        rows.m_extent = k1 * fractal_side;
        rows.k_start = 0;
        rows.k_extent = taps_ * fractal_side;
        w_.emit(rows);
        w_.emit(dv::Dma{l1, ub, 1, squares * fractal_side, 0, 0});
        const Ref l0a = w_.double_buffer("a_l0a", Scope::l0a, DType::f16,
                                         wide_ * deep_ * fractal_size);
        const Ref l0b = w_.double_buffer("b_l0b", Scope::l0b, DType::f16, size);
        w_.loop("m", wide_, [&](const Expr &m) {
            dv::Load2d l;
            l.dst = moved(l0a, m * (k1 * fractal_size));
            l.src = moved(left, (first * wide_ + m) * fractal_size);
            l.repeat = k1;
            l.src_stride = wide_;
            w_.emit(l);
        });
        dv::Load2d l;
        l.dst = l0b;
        l.src = l1;
        l.repeat = squares;
        l.transpose = true;
        w_.emit(l);
        dv::Mmad mmad;
        mmad.dst = sums;
        mmad.a = l0a;
        mmad.b = l0b;
        mmad.m = wide_ * fractal_side;
        mmad.k = pixels;
        mmad.n = taps_ * fractal_side;
        mmad.accumulate = earlier;
        w_.emit(mmad);
    }

    // Stores 16 filters: [tap][16 filters][16 channels] -> [tap][channel][filter] ->
    // [channel, tap][filter] -> [filter][channel, tap].
    void results(const Expr &g, const Expr &o, const Expr &c, const Expr &i, int64_t filters,
                 const Ref &sums) {
        const int64_t size = taps_ * fractal_size;
        const int64_t row = taps_ * fractal_side;
        const int64_t rest = c_.c % fractal_side;
        const Ref by_tap = w_.temporary(DType::f16, size);
        const Ref squares = w_.temporary(DType::f16, size);
        const Ref rows = w_.double_buffer("taps_ub", Scope::ub, DType::f16, size);
        dv::CcToUb out;
        out.dst = by_tap;
        out.src = moved(sums, i * fractal_size);
        out.nburst = taps_;
        out.burst = 1;
        out.src_gap = wide_ - 1;
        w_.emit(out);
        transpose_squares(w_, squares, by_tap, taps_);
        move_blocks(w_, {by_tap, taps_, 1}, {squares, 1, fractal_side}, fractal_side, taps_);
        columns_to_rows(w_, rows, by_tap, row);
        w_.give_back(by_tap);
        w_.give_back(squares);
        const auto write = [&](int64_t channels) {
            const Ref to = in_gm(
                dfilters_, ((g * c_.o + (o + i) * fractal_side) * c_.c + c * fractal_side) * taps_);
            move(w_, {filters, channels * taps_}, {to, {c_.c * taps_, 1}, Scope::gm},
                 {rows, {row, 1}});
        };
        if (!rest || c1_ == 1) return write(rest ? rest : fractal_side);
        w_.branch(c + 1 == c1_, w_.nested([&] { write(rest); }),
                  w_.nested([&] { write(fractal_side); }));
    }
};

}  // namespace

void correlate_taps(Writer &w, const Correlation &c, const std::string &image,
                    const std::string &dout, const std::string &dfilters, int shrink) {
    FilterGradient(w, c, image, dout, dfilters, shrink).write();
}

}  // namespace halyard::ascend
