#include "dsl/ascend/convolution/pooling.h"

#include <algorithm>
#include <cmath>

#include "dsl/ascend/lowering/fractals.h"
#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/vector.h"
#include "dsl/ascend/schedule.h"
#include "dsl/op.h"
#include "registry/base/integer.h"

namespace halyard::ascend {

using dv::CmpOp;
using dv::Expr;
using dv::Ref;
using dv::VecOp;

namespace {

constexpr int64_t lanes = fractal_side;  // interleaved planes
constexpr int64_t max_taps = 64, max_shared = 9, max_repeats = 255;

int64_t floor_div(int64_t n, int64_t by) {
    return -ceil_div(-n, by);
}

// The windows along one dimension. Window i has `kernel` lines from i * step - before on, as far as
// they are within the image.
struct Line {
    int64_t size = 1, windows = 1, kernel = 1, step = 1, before = 0, after = 0;

    int64_t shared() const { return ceil_div(kernel, step); }
    // The windows whose tap `k` is within the image are [first(k), end(k)).
    int64_t first(int64_t k) const { return std::max<int64_t>(0, ceil_div(before - k, step)); }
    int64_t end(int64_t k) const {
        return std::min(windows, floor_div(size - 1 + before - k, step) + 1);
    }
    bool has_all(int64_t k) const { return first(k) == 0 && end(k) == windows; }
    // Returns the lines of a window that count in a mean's divisor.
    int64_t count(int64_t window, bool padding) const {
        const int64_t from = window * step - before;
        return padding ? std::min(kernel, size + after - from)
                       : std::min(from + kernel, size) - std::max<int64_t>(from, 0);
    }
    // Returns the number of lines that `n` windows cover.
    int64_t reach(int64_t n) const { return std::min(size, (n - 1) * step + kernel); }
    // Returns the largest number of windows that cover one of `n` lines.
    int64_t reaching(int64_t n) const { return std::min(windows, (n + kernel - 2) / step + 1); }
};

struct Windows {
    int64_t planes = 1;
    Line down, across;
    bool count_padding = false;
    int64_t divisor = 0;  // instead of the number of a window's pixels, unless 0
    DType dtype = DType::f16;
};

class Pooling {
public:
    Pooling(Writer &w, const Windows &c, Pooled p, int64_t lines)
        : w_(w), c_(c), p_(p), lines_(lines) {}

    // Returns the bytes of the Unified Buffer for tiles of `lines` lines of the result.
    static int64_t bytes(const Windows &c, Pooled p, int64_t lines) {
        const int64_t t = int64_t(bytes_of(c.dtype));
        const int64_t windows = is_gradient(p) ? c.down.reaching(lines) : lines;
        const int64_t in = pitch(c.down.reach(windows) * c.across.size);
        const int64_t out = pitch(windows * c.across.windows);
        const int64_t larger = std::max(in, out);
        if (larger > max_columns) return INT64_MAX;
        const bool means = p == Pooled::mean || p == Pooled::mean_dx;
        const int64_t tiles = p == Pooled::max      ? in + 2 * out
                              : p == Pooled::max_dx ? 2 * in + 4 * out
                                                    : larger;
        const int64_t reals = means || p == Pooled::max_dx ? in + out : 0;
        return lanes * (t * (2 * larger + tiles) + 4 * (reals + 3 * pitch(c.across.windows))) +
               4096;
    }
    // Returns true if tiles of `lines` lines share no block of the result.
    static bool are_separate(const Windows &c, Pooled p, int64_t lines) {
        const auto ends_at_block = [&](int64_t n) {
            return n * c.across.windows % dv::c0(c.dtype) == 0;
        };
        return !is_gradient(p) && c.down.windows % lines == 0 && ends_at_block(lines) &&
               ends_at_block(c.down.windows);
    }
    static bool is_gradient(Pooled p) { return p == Pooled::max_dx || p == Pooled::mean_dx; }

    void write() {
        const int64_t groups = ceil_div(c_.planes, lanes);
        const int64_t all = is_gradient(p_) ? c_.down.size : c_.down.windows;
        const int64_t tiles = ceil_div(all, lines_);
        windows_ = is_gradient(p_) ? c_.down.reaching(lines_) : lines_;
        reach_ = c_.down.reach(windows_);
        const int64_t shares = are_separate(c_, p_, lines_) ? tiles : 1;  // cores of a group
        w_.program.blocks = groups * shares;
        group_ = groups > 1 ? Expr::var("block_idx") / shares : Expr(0);
        const int64_t pixels = pitch(std::max(
            {reach_ * c_.across.size, windows_ * c_.across.windows, lines_ * result_width()}));
        rows_ = w_.buffer("rows_ub", dv::Scope::ub, c_.dtype, lanes * pixels);
        // Elements that are stored one by one don't fill the last blocks.
        if (c_.planes % lanes || c_.dtype != DType::f16) zeros(rows_, lanes * pixels);
        const auto each_tile = [&](const Expr &tile) {
            const Expr first = min(tile * lines_, all - lines_);
            // The windows of a gradient's lines begin with the first one that covers them.
            first_window_ =
                is_gradient(p_)
                    ? min(max(0, (first + (c_.down.before - c_.down.kernel + c_.down.step)) /
                                     c_.down.step),
                          c_.down.windows - windows_)
                    : first;
            first_line_ = min(max(0, first_window_ * c_.down.step - c_.down.before),
                              c_.down.size - reach_);
            switch (p_) {
            case Pooled::max: return maxima(first);
            case Pooled::max_dx: return maxima_dx(first);
            case Pooled::mean: return means(first);
            case Pooled::mean_dx: return means_dx(first);
            }
        };
        if (shares > 1)
            each_tile(Expr::var("block_idx") % shares);
        else
            w_.loop("tile", tiles, each_tile);
    }

private:
    Writer &w_;
    const Windows &c_;
    const Pooled p_;
    const int64_t lines_;  // lines of a tile of the result
    int64_t windows_ = 1;  // lines of windows that a tile needs
    int64_t reach_ = 1;    // lines of the image that these cover
    Expr group_, first_window_, first_line_;
    Ref rows_;

    static int64_t pitch(int64_t pixels) { return whole_fractals(pixels); }
    int64_t result_width() const { return is_gradient(p_) ? c_.across.size : c_.across.windows; }
    int64_t in_pixels() const { return reach_ * c_.across.size; }
    int64_t out_pixels() const { return windows_ * c_.across.windows; }

    // Declares a tile [pixel][16], with room for a comparison, which reads whole repeats.
    Ref tile(const char *name, DType t, int64_t pixels) {
        return w_.buffer(name, dv::Scope::ub, t, pitch(pixels) * lanes + dv::lanes(t));
    }
    void fill(const Ref &at, int64_t n, double value) {
        Vectors(w_, {n}).fill({at, {1}}, {"", value});
    }
    void zeros(const Ref &at, int64_t n) { fill(at, n, 0); }
    Ref filled(const char *name, DType t, int64_t pixels, double value) {
        const Ref r = tile(name, t, pixels);
        fill(r, pitch(pixels) * lanes + dv::lanes(t), value);
        return r;
    }

    // Loads lines of all planes of the group.
    Ref load(const char *tensor, int64_t map, const Expr &first_pixel, int64_t pixels) {
        const int64_t unit = dv::c0(c_.dtype);
        const int64_t blocks = ceil_div(pixels, unit);
        const Ref from{tensor, group_ * (lanes * map) + first_pixel, 0, c_.dtype};
        const Expr planes = c_.planes % lanes ? min(lanes, c_.planes - group_ * lanes)
                                              : Expr(lanes);
        if (map % unit == 0) {
            w_.emit(dv::Dma{rows_, from, planes, blocks, map / unit - blocks,
                            pitch(pixels) / unit - blocks});
        } else {
            w_.loop("plane", 0, planes, [&](const Expr &k) {
                w_.emit(dv::Dma{moved(rows_, k * pitch(pixels)), moved(from, k * map), 1, blocks, 0,
                                0});
            });
        }
        const Ref columns = filled((std::string(tensor) + "_ub").c_str(), c_.dtype, pixels, 0);
        if (c_.dtype == DType::f16)
            rows_to_columns(w_, columns, rows_, lanes, pitch(pixels));
        else
            one_by_one(pixels, columns, 1, lanes, rows_, pitch(pixels), 1);
        return columns;
    }
    // Copies dst[lane * to + pixel * next] = src[lane * from + pixel * after] by the scalar unit.
    void one_by_one(int64_t pixels, const Ref &dst, int64_t to, int64_t next, const Ref &src,
                    int64_t from, int64_t after) {
        w_.warnings.push_back("W-SCALAR " + w_.stage + ": the vector unit transposes f16 alone");
        const Expr planes = c_.planes % lanes ? min(lanes, c_.planes - group_ * lanes)
                                              : Expr(lanes);
        w_.loop("lane", 0, planes, [&](const Expr &k) {
            w_.loop("pixel", pixels, [&](const Expr &i) {
                const std::string reg = w_.reg();
                w_.emit(dv::ScalarLd{reg, moved(src, k * from + i * after)});
                w_.emit(dv::ScalarSt{moved(dst, k * to + i * next), {reg}});
            });
        });
    }
    // Stores a tile of the result.
    void store(const char *tensor, int64_t map, const Expr &first_pixel, int64_t pixels,
               const Ref &columns) {
        if (c_.dtype == DType::f16)
            columns_to_rows(w_, rows_, columns, pitch(pixels));
        else
            one_by_one(pixels, rows_, pitch(pixels), 1, columns, 1, lanes);
        const Ref to{tensor, group_ * (lanes * map) + first_pixel, 0, c_.dtype};
        const auto write = [&](int64_t planes) { write_planes(planes, map, pixels, to); };
        if (const int64_t rest = c_.planes % lanes) {
            const Expr is_last = group_ == c_.planes / lanes;
            w_.branch(is_last, w_.nested([&] { write(rest); }), {});
            w_.branch(Expr(1) - is_last, w_.nested([&] { write(lanes); }), {});
        } else {
            write(lanes);
        }
    }
    // A whole plane that doesn't end with a block is written beyond its end, into the next one,
    // which is written later.
    void write_planes(int64_t planes, int64_t map, int64_t pixels, const Ref &to) {
        const int64_t unit = dv::c0(c_.dtype);
        if (pixels % unit == 0 || pixels < unit || pixels != map) {
            return move(w_, {planes, pixels}, {to, {map, 1}, dv::Scope::gm},
                        {rows_, {pitch(pixels), 1}});
        }
        if (planes > 1) {
            w_.loop("plane", planes - 1, [&](const Expr &k) {
                w_.emit(dv::Dma{moved(to, k * map), moved(rows_, k * pitch(pixels)), 1,
                                ceil_div(pixels, unit), 0, 0});
            });
        }
        move(w_, {1, pixels}, {moved(to, (planes - 1) * map), {map, 1}, dv::Scope::gm},
             {moved(rows_, (planes - 1) * pitch(pixels)), {pitch(pixels), 1}});
    }

    // One tap of a line of windows. Taps of neighbouring windows have a distance of across.step
    // pixels.
    struct Taps {
        Expr window, pixel,
            line;       // first elements in the tiles of windows and pixels; line of the image
        int64_t count;  // the number of windows
    };
    // Calls body(taps) for every tap of a window, row by row, and every line of windows that has it
    // within the image.
    void each_tap(const std::function<void(const Taps &)> &body) {
        for (int64_t i = 0; i < c_.down.kernel; i++) {
            for (int64_t j = 0; j < c_.across.kernel; j++)
                each_line(i, j, body);
        }
    }
    void each_line(int64_t i, int64_t j, const std::function<void(const Taps &)> &body) {
        const int64_t first = c_.across.first(j);
        const int64_t count = c_.across.end(j) - first;
        if (count <= 0) return;
        w_.loop("line", max(0, c_.down.first(i) - first_window_),
                min(windows_, c_.down.end(i) - first_window_), [&](const Expr &r) {
                    const Expr line = (first_window_ + r) * c_.down.step + (i - c_.down.before);
                    const Expr pixel = (line - first_line_) * c_.across.size +
                                       (first * c_.across.step + j - c_.across.before);
                    body({(r * c_.across.windows + first) * lanes, pixel * lanes, line, count});
                });
    }
    // Returns the taps as contiguous pixels, copied to `into` unless they are contiguous.
    Ref contiguous(const Ref &in, const Taps &t, const Ref &into) {
        if (c_.across.step == 1 || t.count == 1) return moved(in, t.pixel);
        gather(into, moved(in, t.pixel), t.count);
        return into;
    }
    // Copies pixels to contiguous memory. A pixel of f16 is a block, and eight of them with their
    // stride are a repeat.
    void gather(const Ref &dst, const Ref &src, int64_t pixels) {
        constexpr int64_t blocks = 8, max_stride = 255;
        const int64_t step = c_.across.step;
        if (c_.dtype != DType::f16 || blocks * step > max_stride)
            return Vectors(w_, {pixels, lanes}).copy({dst, {lanes, 1}}, {src, {step * lanes, 1}});
        const auto part = [&](int64_t first, int64_t repeat, int64_t mask) {
            dv::Vec v;  // a maximum of a number and itself, as in Vectors::copy()
            v.op = VecOp::max;
            v.dst = moved(dst, first * lanes);
            v.mask.count = mask;
            v.repeat = repeat;
            for (int k = 0; k < 2; k++) {
                v.src[k] = moved(src, first * step * lanes);
                v.src_blk[k] = int(step);
                v.src_rep[k] = blocks * step;
            }
            w_.emit(v);
        };
        const int64_t whole = pixels / blocks;
        const int64_t rest = pixels % blocks;
        if (whole) part(0, whole, blocks * lanes);
        if (rest) part(whole * blocks, 1, rest * lanes);
    }
    // Emits dst = a op b ? x : y for n elements; x or y may be zero_. A comparison reads whole
    // repeats.
    void choose(const Ref &dst, CmpOp op, const Ref &a, const Ref &b, const Ref &x, const Ref &y,
                int64_t n) {
        const int64_t repeat = dv::lanes(c_.dtype);
        const int64_t whole = n / repeat;
        const int64_t rest = n % repeat;
        const Ref bits = w_.temporary(DType::u8, ceil_div(n, 8) + dv::block_bytes);
        const auto part = [&](int64_t first, int64_t count, int64_t mask) {
            dv::VecCmp c;
            c.op = op;
            c.dst = bits;
            c.src[0] = moved(a, first);
            c.src[1] = moved(b, first);
            c.repeat = count;
            w_.emit(c);
            dv::VecSel s;
            s.dst = moved(dst, first);
            s.sel = bits;
            s.mask.count = mask;
            s.repeat = count;
            const Ref *const from[2] = {&x, &y};
            for (int k = 0; k < 2; k++) {
                const bool zero = from[k]->buffer == zero_.buffer;
                s.src[k] = zero ? zero_ : moved(*from[k], first);
                if (zero) {
                    s.src_blk[k] = 0;
                    s.src_rep[k] = 0;
                }
            }
            w_.emit(s);
        };
        for (int64_t first = 0; first < whole; first += max_repeats)
            part(first * repeat, std::min(max_repeats, whole - first), repeat);
        if (rest) part(whole * repeat, 1, rest);
        w_.give_back(bits);
    }
    Ref zero_;

    void maxima(const Expr &first) {
        const int64_t map = c_.down.size * c_.across.size;
        const int64_t out_map = c_.down.windows * c_.across.windows;
        const Ref in = load("x", map, first_line_ * c_.across.size, in_pixels());
        const Ref out = filled("y_ub", c_.dtype, out_pixels(), -INFINITY);
        const Ref taps = filled("taps", c_.dtype, out_pixels(), -INFINITY);
        const int64_t n = out_pixels() * lanes;
        for (int64_t i = 0; i < c_.down.kernel; i++) {
            for (int64_t j = 0; j < c_.across.kernel; j++) {
                const bool all = c_.down.has_all(i) && c_.across.has_all(j);
                if (!all && i + j > 0) fill(taps, n, -INFINITY);
                each_line(i, j, [&](const Taps &t) {
                    gather(moved(taps, t.window), moved(in, t.pixel), t.count);
                });
                choose(out, CmpOp::gt, taps, out, taps, out, n);
                choose(out, CmpOp::eq, taps, taps, out, taps, n);  // a NaN wins
            }
        }
        store("y", out_map, first * c_.across.windows, out_pixels(), out);
    }

    // A window's gradient is added to the first of its taps that is its maximum, or a NaN.
    void maxima_dx(const Expr &first) {
        const int64_t map = c_.down.size * c_.across.size;
        const int64_t out_map = c_.down.windows * c_.across.windows;
        const Expr window = first_window_ * c_.across.windows;
        const Ref in = load("x", map, first_line_ * c_.across.size, in_pixels());
        const Ref window_max = load("y", out_map, window, out_pixels());
        const Ref left = load("dy", out_map, window, out_pixels());
        // Gradients of several windows are added in f32.
        const DType sum = c_.down.shared() * c_.across.shared() > 1 ? DType::f32 : c_.dtype;
        const Ref dx = filled("sums", sum, lines_ * c_.across.size, 0);
        const Ref wide = filled("reals", sum, out_pixels(), 0);
        const Ref given = filled("given", c_.dtype, out_pixels(), 0);
        const Ref taps = filled("taps", c_.dtype, out_pixels(), 0);
        zero_ = w_.buffer("zero", dv::Scope::ub, c_.dtype, dv::c0(c_.dtype));
        zeros(zero_, dv::c0(c_.dtype));
        // Moves `gradient` of windows with maximum `best` to `given` if the tap is its
        // maximum.
        const auto give = [&](const Ref &tap, const Ref &best, const Ref &gradient, int64_t n) {
            choose(given, CmpOp::eq, tap, best, gradient, zero_, n);
            choose(given, CmpOp::eq, tap, tap, given, gradient, n);
            choose(gradient, CmpOp::eq, tap, best, zero_, gradient, n);
            choose(gradient, CmpOp::eq, tap, tap, gradient, zero_, n);
            if (sum != c_.dtype)
                Vectors(w_, {n}).convert({wide, {1}}, {given, {1}}, dv::Round::none);
        };
        const Ref &shares = sum != c_.dtype ? wide : given;
        for (int64_t i = 0; i < c_.down.kernel; i++) {
            for (int64_t j = 0; j < c_.across.kernel; j++) {
                if (!c_.down.has_all(i) || !c_.across.has_all(j)) {
                    each_line(i, j, [&](const Taps &t) {
                        give(contiguous(in, t, taps), moved(window_max, t.window),
                             moved(left, t.window), t.count * lanes);
                        add(dx, t, shares, first);
                    });
                    continue;
                }
                each_line(i, j, [&](const Taps &t) {
                    gather(moved(taps, t.window), moved(in, t.pixel), t.count);
                });
                give(taps, window_max, left, out_pixels() * lanes);
                each_line(i, j, [&](const Taps &t) { add(dx, t, moved(shares, t.window), first); });
            }
        }
        store("dx", map, first * c_.across.size, lines_ * c_.across.size,
              from_f32(dx, lines_ * c_.across.size));
    }
    // Adds gradients to the pixels of the taps, if their line belongs to the tile.
    void add(const Ref &dx, const Taps &t, const Ref &given, const Expr &first) {
        const auto accumulate = [&] {
            const Ref to = moved(dx, t.pixel + (first_line_ - first) * (c_.across.size * lanes));
            const Operand sum{to, {c_.across.step * lanes, 1}};
            Vectors(w_, {t.count, lanes}).binary(VecOp::add, sum, sum, {given, {lanes, 1}});
        };
        if (lines_ == c_.down.size) return accumulate();
        w_.branch(first <= t.line && t.line < first + lines_, w_.nested(accumulate), {});
    }

    void means(const Expr &first) {
        const int64_t map = c_.down.size * c_.across.size;
        const int64_t out_map = c_.down.windows * c_.across.windows;
        const Ref in = as_f32(load("x", map, first_line_ * c_.across.size, in_pixels()),
                              in_pixels());
        const Ref sums = filled("sums", DType::f32, out_pixels(), 0);
        each_tap([&](const Taps &t) {
            const Operand sum{moved(sums, t.window), {lanes, 1}};
            Vectors(w_, {t.count, lanes})
                .binary(VecOp::add, sum, sum, {moved(in, t.pixel), {c_.across.step * lanes, 1}});
        });
        divide(sums);
        store("y", out_map, first * c_.across.windows, out_pixels(), from_f32(sums, out_pixels()));
    }
    void means_dx(const Expr &first) {
        const int64_t map = c_.down.size * c_.across.size;
        const int64_t out_map = c_.down.windows * c_.across.windows;
        const Ref shares = as_f32(
            load("dy", out_map, first_window_ * c_.across.windows, out_pixels()), out_pixels());
        divide(shares);
        const Ref dx = filled("sums", DType::f32, lines_ * c_.across.size, 0);
        each_tap([&](const Taps &t) { add(dx, t, moved(shares, t.window), first); });
        store("dx", map, first * c_.across.size, lines_ * c_.across.size,
              from_f32(dx, lines_ * c_.across.size));
    }
    Ref as_f32(const Ref &from, int64_t pixels) {
        return converted(from, DType::f32, "reals", pixels);
    }
    Ref from_f32(const Ref &from, int64_t pixels) {
        return converted(from, c_.dtype, "results", pixels);
    }
    Ref converted(const Ref &from, DType to, const char *name, int64_t pixels) {
        if (from.dtype == to) return from;
        const Ref r = filled(name, to, pixels, 0);
        Vectors(w_, {pixels * lanes}).convert({r, {1}}, {from, {1}}, dv::Round::none);
        return r;
    }

    // Divides each window's value by the number of its pixels; lines of windows with equal numbers
    // are divided together.
    void divide(const Ref &tile) {
        const auto lines = [&](int64_t i) {
            return c_.divisor ? c_.divisor : c_.down.count(i, c_.count_padding);
        };
        const auto pixels = [&](int64_t i) {
            return c_.divisor ? 1 : c_.across.count(i, c_.count_padding);
        };
        const int64_t width = c_.across.windows;
        bool even = true;
        for (int64_t i = 0; i < width; i++)
            even &= pixels(i) == pixels(0);
        if (!even) {
            const Ref across = w_.buffer("across", dv::Scope::ub, DType::f32, width * lanes);
            for (int64_t i = 0; i < width; i++)
                fill(moved(across, i * lanes), lanes, 1.0 / double(pixels(i)));
            w_.loop("line", windows_, [&](const Expr &r) {
                const Operand line{moved(tile, r * (width * lanes)), {1}};
                Vectors(w_, {width * lanes}).binary(VecOp::mul, line, line, {across, {1}});
            });
        }
        for (int64_t from = 0, to; from < c_.down.windows; from = to) {
            for (to = from + 1; to < c_.down.windows && lines(to) == lines(from);)
                to++;
            const double share = 1.0 / double(lines(from) * (even ? pixels(0) : 1));
            if (share == 1) continue;
            const auto scale = [&](const Expr &at, int64_t n) {
                const Operand part{moved(tile, at), {1}};
                Vectors(w_, {n}).with_number(VecOp::muls, part, part, {"", share});
            };
            if (to - from == c_.down.windows)
                scale(0, windows_ * width * lanes);
            else {
                w_.loop("line", max(0, from - first_window_), min(windows_, to - first_window_),
                        [&](const Expr &r) { scale(r * (width * lanes), width * lanes); });
            }
        }
    }
};

}  // namespace

bool pool(const Ascend &npu, const Op &op, Pooled p) {
    const auto scalar = [&](const std::string &name) { return npu.scalar(op, name); };
    const auto &in = npu.call->inputs;
    for (auto *all : {&in, &npu.call->outputs}) {
        for (auto &layout : *all)
            if (!FixedCall::is_dense(layout)) return false;
    }
    const FixedCall::Layout &x = in[0];
    const FixedCall::Layout &y = Pooling::is_gradient(p) ? in[1] : npu.call->outputs[0];
    Windows c;
    c.planes = int64_t(x[2].extent) * x[3].extent;
    c.down = {x[1].extent,        y[1].extent,       scalar("kernel_h"),
              scalar("stride_h"), scalar("pad_top"), scalar("pad_bottom")};
    c.across = {x[0].extent,        y[0].extent,        scalar("kernel_w"),
                scalar("stride_w"), scalar("pad_left"), scalar("pad_right")};
    c.count_padding = scalar("count_all");
    c.divisor = scalar("divisor_override");
    for (auto &[name, t] : npu.types)
        c.dtype = t;
    if (std::max(scalar("dilation_h"), scalar("dilation_w")) > 1) return false;
    if (c.down.kernel * c.across.kernel > max_taps ||
        c.down.shared() * c.across.shared() > max_shared)
        return false;
    const int64_t room = npu.chip().bytes(dv::Scope::ub);
    int64_t lines = Pooling::is_gradient(p) ? c.down.size : c.down.windows;
    while (lines > 1 && Pooling::bytes(c, p, lines) > room)
        lines = (lines + 1) / 2;
    // Slightly smaller tiles may be computed by several cores.
    for (int64_t n = lines; n * 2 > lines; n--) {
        if (Pooling::are_separate(c, p, n)) {
            lines = n;
            break;
        }
    }
    lines = std::max<int64_t>(
        1, lines >> npu.pick("shrink", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    if (Pooling::bytes(c, p, lines) > room) return false;
    npu.buffer_plan->emitted = {[=](Writer &w) { Pooling(w, c, p, lines).write(); }};
    return true;
}

}  // namespace halyard::ascend
