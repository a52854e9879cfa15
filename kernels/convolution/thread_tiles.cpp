// thread_tiles: conv2d and its gradients on GPUs. A thread has a tile of sums in registers: 4
// pixels, a warp apart from each other, by 8 channels of the result. So a number of a filter is
// loaded once for 4 products, a pixel once for 8, and the threads of a warp load neighbouring
// pixels.
//
// The map is copied with its padding, so that no load needs a test, and filters are copied with the
// channels that they sum in groups of 4, which one load takes. Sums are parts, so that there are
// enough tiles, and are stored by blocks of pixels of all images; a last kernel adds them and puts
// the result into maps, with the epilogue. The times by the model, beside those of a sum a thread:
// docs/gpu.md.
#include "dsl/gpu/grid.h"
#include "kernels/convolution/conv2d.h"

namespace halyard {
namespace {

constexpr int lanes_of_warp = 32, strips = 4, block_places = lanes_of_warp * strips;
constexpr int tile_channels = 8, block_channels = 32, group_terms = 4;

// A coordinate in the copied map, along one axis: that of pixel o and tap t is
// o * step + t * tap_step + first.
struct Axis {
    Halide::Expr step, tap_step, first;
    Halide::Expr operator()(const Halide::Expr &o, const Halide::Expr &t) const {
        return o * step + t * tap_step + first;
    }
};

// The tiles that threads sum: 4 places, a warp apart from each other, by 8 channels. A block has
// 128 places by 32 channels. A sum is parts, which a further launch adds in their order.
struct TilesOfSums {
    using Var = Halide::Var;
    using Expr = Halide::Expr;
    using Func = Halide::Func;

    Var lane{"lane"}, strip{"strip"}, block{"block"}, c{"c"}, part{"part"};
    // Both are Funcs of (lane, strip, block, c, part). The first two updates of thread_sum add
    // whole groups of terms, then the rest.
    Func thread_sum{"thread_sum"}, parts{"parts"};

    // Returns the place of (lane, strip, block), of `places`. Beyond the last one there are only
    // others of its block, which nothing reads.
    Expr place(const Expr &places) const {
        return min(lane + lanes_of_warp * strip + block_places * block, places - 1);
    }
    void add(const Expr &product) { thread_sum(lane, strip, block, c, part) += product; }
    void store() { parts(lane, strip, block, c, part) = thread_sum(lane, strip, block, c, part); }
    // Returns the sum of one part at a place.
    Expr stored(const Expr &at, const Expr &channel, const Expr &of_part) const {
        return parts(at % lanes_of_warp, at / lanes_of_warp % strips, at / block_places, channel,
                     of_part);
    }

    // Distributes the tiles over a GPU. `groups` is the domain of the first update: the terms of a
    // group, then the groups, then further dimensions. `factors`, a Func of `term`, `group`, c and
    // `part`, is what a thread loads of each group for its channels.
    void schedule(const Halide::RDom &groups, const Halide::RDom &rest, Func factors,
                  const Var &term, const Var &group);

private:
    Halide::Stage unroll_tile(Halide::Stage stage, const Halide::RDom &domain) const;
};

void TilesOfSums::schedule(const Halide::RDom &groups, const Halide::RDom &rest, Func factors,
                           const Var &term, const Var &group) {
    Var channel("channel"), warp("warp");
    parts.compute_root()
        .bound(lane, 0, lanes_of_warp)
        .bound(strip, 0, strips)
        .split(c, channel, c, block_channels, Halide::TailStrategy::ShiftInwards)
        .split(c, warp, c, tile_channels)
        .reorder(strip, c, lane, warp, block, channel, part)
        .gpu_blocks(block, channel, part)
        .gpu_threads(lane, warp)
        .unroll(strip)
        .unroll(c);
    thread_sum.compute_at(parts, lane).unroll(strip).unroll(c);
    unroll_tile(thread_sum.update(0), groups).unroll(groups.x);
    unroll_tile(thread_sum.update(1), rest);
    factors.compute_at(thread_sum, groups.y)
        .bound_extent(term, group_terms)
        .bound_extent(group, 1)
        .bound_extent(part, 1)
        .store_in(Halide::MemoryType::Register)
        .vectorize(term)
        .unroll(c);
}

Halide::Stage TilesOfSums::unroll_tile(Halide::Stage stage, const Halide::RDom &domain) const {
    std::vector<Halide::VarOrRVar> loops = {strip, c};
    for (int d = 0; d < domain.dimensions(); d++)
        loops.emplace_back(domain[d]);
    return stage.reorder(loops).unroll(strip).unroll(c);
}

template<class O> class ThreadTiles : public ConvolutionVariant<O> {
public:
    using ConvolutionVariant<O>::ConvolutionVariant;
    void schedule(const Gpu &gpu) override;
    using Implementation::schedule;

protected:
    using Var = Halide::Var;
    using Expr = Halide::Expr;
    using Func = Halide::Func;

    // The sizes of a convolution: the result's columns, rows, images and channels, the taps of a
    // row and of a column, and the channels that are summed.
    struct Sizes {
        Expr columns, rows, images, channels, taps_v, taps_u, terms;
    };

    // Defines the sums from `padded`, the map (x, y, channel, image), and `filter`: (channel of the
    // map, tap v, tap u, channel of the result).
    void define_sums(const Sizes &s, const Axis &across, const Axis &down);
    Func padded, filter{"filter"};
    Func total{"total"};  // the sum of the result's pixel (x, y) in channel c of image n
    Var k{"k"}, v{"v"}, u{"u"};
    using ConvolutionVariant<O>::c;

private:
    TilesOfSums tiles;
    Func filters{"filters"}, filter_terms{"filter_terms"};
    Var group{"group"};
    Halide::RDom terms, last_terms, all_parts;
};

template<class O>
void ThreadTiles<O>::define_sums(const Sizes &s, const Axis &across, const Axis &down) {
    const Expr pixels = s.columns * s.rows * s.images;
    const Expr pixel = tiles.place(pixels);
    // The limits are for bounds inference, which doesn't know that the divisor is positive.
    const Expr image = clamp(pixel / (s.columns * s.rows), 0, s.images - 1);
    const Expr row = pixel / s.columns % s.rows;
    const Expr column = pixel % s.columns;
    const auto of_map = [&](const Expr &channel, const Expr &tap_v, const Expr &tap_u) {
        return padded(across(column, tap_v), down(row, tap_u), channel, image);
    };
    const Var &part = tiles.part;
    const Expr groups = s.terms / group_terms;
    const Expr groups_of_part = gpu::size_of_part(groups, group_terms * s.taps_v * s.taps_u, pixels,
                                                  s.channels);
    const Expr last_part = max((groups + groups_of_part - 1) / groups_of_part - 1, 0);
    const auto channel_of = [&](const Expr &term, const Expr &group_in_part) {
        return (part * groups_of_part + group_in_part) * group_terms + term;
    };
    filters(k, group, part, v, u, c) = filter(min(channel_of(k, group), s.terms - 1), v, u, c);
    filter_terms(k, group, part, v, u, c) = filters(k, group, part, v, u, c);
    // The loop that the condition limits is the inner one. Halide can't prove outside of it that a
    // thread loads one group, and would assert it in the kernel.
    terms = Halide::RDom(0, group_terms, 0, groups_of_part, 0, s.taps_v, 0, s.taps_u);
    terms.where(part * groups_of_part + terms[1] < groups);
    tiles.add(filter_terms(terms[0], terms[1], part, terms[2], terms[3], c) *
              of_map(channel_of(terms[0], terms[1]), terms[2], terms[3]));
    last_terms = Halide::RDom(0, s.taps_v, 0, s.taps_u, 0, s.terms % group_terms);
    last_terms.where(part == last_part);
    const Expr last_channel = groups * group_terms + last_terms.z;
    tiles.add(filter(last_channel, last_terms.x, last_terms.y, c) *
              of_map(last_channel, last_terms.x, last_terms.y));
    tiles.store();
    all_parts = Halide::RDom(0, last_part + 1);
    const Expr at = this->x + s.columns * (this->y + s.rows * this->n);
    total(this->x, this->y, c, this->n) += tiles.stored(at, c, all_parts);
}

template<class O> void ThreadTiles<O>::schedule(const Gpu &) {
    using Tail = Halide::TailStrategy;
    this->op.from_zero();
    Var blocks("blocks"), thread("thread"), tap("tap"), map("map"), pixel("pixel");
    // the copies
    padded.compute_root()
        .split(this->x, blocks, thread, lanes_of_warp, Tail::GuardWithIf)
        .fuse(c, this->n, map)
        .reorder(thread, blocks, this->y, map)
        .gpu_blocks(map, blocks, this->y)
        .gpu_threads(thread);
    filters.compute_root()
        .bound(k, 0, group_terms)
        .fuse(v, u, tap)
        .fuse(k, group, group)
        .fuse(group, tiles.part, group)
        .split(group, blocks, thread, lanes_of_warp, Tail::GuardWithIf)
        .reorder(thread, blocks, tap, c)
        .gpu_blocks(blocks, tap, c)
        .gpu_threads(thread);
    tiles.schedule(terms, last_terms, filter_terms, k, group);
    // the result
    Func result = this->store();
    result.fuse(this->var(0), this->var(1), pixel)
        .split(pixel, blocks, thread, block_places, Tail::GuardWithIf)
        .reorder(thread, blocks, this->var(2), this->var(3))
        .gpu_blocks(blocks, this->var(2), this->var(3))
        .gpu_threads(thread);
    total.compute_at(result, thread);
}

class Forward : public ThreadTiles<Conv2d> {
public:
    using ThreadTiles::ThreadTiles;
    void algorithm(const Build &) override {
        padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        filter(k, v, u, c) = op.weight(v, u, k, c);
        define_sums({size(d.ow), size(d.oh), size(d.n), size(d.o), size(d.v), size(d.u), size(d.c)},
                    {stride_w, dil_w, -pad_left}, {stride_h, dil_h, -pad_top});
        op.out_y(x, y, c, n) = op.epilogue(total(x, y, c, n));
    }
};

class GradientOfMap : public ThreadTiles<Conv2dDx> {
public:
    using ThreadTiles::ThreadTiles;
    void algorithm(const Build &) override {
        padded = op.dilated_dy();
        filter(k, v, u, c) = op.weight(v, u, c, k);
        define_sums({size(d.w), size(d.h), size(d.n), size(d.c), size(d.v), size(d.u), size(d.o)},
                    {1, -dil_w, pad_left}, {1, -dil_h, pad_top});
        op.dx(x, y, c, n) = total(x, y, c, n);
    }
};

// conv2d_dweight: a row of the result is a filter, of which a thread has 4 numbers, a warp apart
// from each other, for 8 output channels. Terms are the pixels of dy, in groups of 4 of a row.
// Blocks of rows are summed apart from each other, so that there are enough tiles, and then added
// in their order. How many rows a block has depends on the shape alone.
class GradientOfFilters : public ConvolutionVariant<Conv2dDweight> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &) override;
    void schedule(const Gpu &gpu) override;
    using Implementation::schedule;

private:
    // Returns the row of dy that is row `y` of a part, where all images are below each other.
    Expr row_of(const Expr &y) const { return part * rows_of_part + y; }
    // Returns the product of dy at (column, y) of a part, and of the number of x that the filter's
    // number is multiplied by there.
    Expr product(const Func &of_dy, const Expr &column, const Expr &y_of_part) const;

    Func map{"map"}, factors{"factors"}, factor_terms{"factor_terms"};
    TilesOfSums tiles;
    const Var &part = tiles.part;
    Func total{"total"};
    RDom terms, last_terms, all_parts;
    Expr rows_of_part;
};

Halide::Expr GradientOfFilters::product(const Func &of_dy, const Expr &column,
                                        const Expr &y_of_part) const {
    const Expr channels = size(d.c), taps_v = size(d.v), taps_u = size(d.u);
    const Expr number = tiles.place(channels * taps_v * taps_u);
    const Expr tap_v = number / channels % taps_v;
    const Expr tap_u = clamp(number / (channels * taps_v), 0, taps_u - 1);
    const Expr row = row_of(y_of_part);
    const Expr image = clamp(row / size(d.oh), 0, size(d.n) - 1);
    const Expr row_of_image = row % size(d.oh);
    return of_dy(column, y_of_part, part, c) *
           map(number % channels, op.at_x(column, tap_v), op.at_y(row_of_image, tap_u), image);
}

void GradientOfFilters::algorithm(const Build &) {
    const Expr channels = size(d.c), taps_v = size(d.v), taps_u = size(d.u), outs = size(d.o);
    const Expr ow = size(d.ow), rows = size(d.oh) * size(d.n);
    const Func padded = op.zero_outside(op.in_x, size(d.w), size(d.h), channels);
    map(c, x, y, n) = padded(x, y, c, n);
    rows_of_part = gpu::size_of_part(rows, ow, channels * taps_v * taps_u, outs);
    factors(x, y, part, c) = op.dy(x, row_of(y) % size(d.oh), c,
                                   clamp(row_of(y) / size(d.oh), 0, size(d.n) - 1));
    factor_terms(x, y, part, c) = factors(x, y, part, c);
    terms = RDom(0, group_terms, 0, rows_of_part, 0, ow / group_terms);
    terms.where(row_of(terms.y) < rows);
    last_terms = RDom(0, ow % group_terms, 0, rows_of_part);
    last_terms.where(row_of(last_terms.y) < rows);
    tiles.add(product(factor_terms, terms.z * group_terms + terms.x, terms.y));
    tiles.add(product(factors, ow / group_terms * group_terms + last_terms.x, last_terms.y));
    tiles.store();
    all_parts = RDom(0, (rows + rows_of_part - 1) / rows_of_part);
    const Expr number = c + channels * (x + taps_v * y);
    total(x, y, c, n) += tiles.stored(number, n, all_parts);
    op.dweight(x, y, c, n) = total(x, y, c, n);
}

void GradientOfFilters::schedule(const Gpu &) {
    using Tail = Halide::TailStrategy;
    op.from_zero();
    Var blocks("blocks"), thread("thread"), pixel("pixel"), column("column"), row("row");
    // the copies: x with its channels side by side, dy with aligned groups of a row
    constexpr int columns_of_thread = 8;
    map.compute_root()
        .split(c, blocks, thread, lanes_of_warp, Tail::GuardWithIf)
        .split(x, pixel, column, columns_of_thread, Tail::GuardWithIf)
        .reorder(column, thread, pixel, blocks, y, n)
        .fuse(pixel, blocks, pixel)
        .gpu_blocks(pixel, y, n)
        .gpu_threads(thread);
    factors.compute_root()
        .align_storage(x, group_terms)
        .split(x, blocks, thread, lanes_of_warp, Tail::GuardWithIf)
        .fuse(y, part, row)
        .reorder(thread, blocks, row, c)
        .gpu_blocks(row, blocks, c)
        .gpu_threads(thread);
    tiles.schedule(terms, last_terms, factor_terms, x, y);
    // the result
    Func result = store();
    result.split(var(2), blocks, thread, lanes_of_warp, Tail::GuardWithIf)
        .fuse(var(0), var(1), pixel)
        .reorder(thread, blocks, pixel, var(3))
        .gpu_blocks(blocks, pixel, var(3))
        .gpu_threads(thread);
    total.compute_at(result, thread);
}

// Smaller calls take less time with a sum a thread, by the model of time (docs/gpu.md).
DimExpr fits(const Dim &channels, const DimExpr &pixels) {
    return Convolution::d.group == 1 && channels >= block_channels && pixels * channels >= 1 << 16;
}

}  // namespace

Variant thread_tiles(Conv2d &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Forward>(op, "thread_tiles", fits(d.o, d.n * d.oh * d.ow));
}

Variant thread_tiles(Conv2dDx &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<GradientOfMap>(op, "thread_tiles", fits(d.c, d.n * d.h * d.w));
}

Variant thread_tiles(Conv2dDweight &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<GradientOfFilters>(
        op, "thread_tiles",
        d.group == 1 && d.o >= block_channels && d.c * d.u * d.v >= lanes_of_warp &&
            min(d.n * d.oh * d.ow, 65536) * min(d.c * d.u * d.v * d.o, 65536) >= 1 << 20);
}

}  // namespace halyard
