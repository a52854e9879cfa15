#include "kernels/contraction/matrix_tiles.h"

namespace halyard {
using Tail = Halide::TailStrategy;

// The last panel overlaps the one before, so that it needs no padding.
void MatrixTiles::define(Halide::Func sum, int group, const Expr &groups, const Expr &n,
                         const Factors &f) {
    group_size_ = group;
    k_ = Halide::RDom(0, group, 0, groups, "k");
    const auto first_column = [&](const Expr &panel) {
        return min(panel * tile_columns, n - tile_columns);
    };
    packed_(element_, column_, group_, panel_, batch_) = f.b(first_column(panel_) + column_,
                                                             group * group_ + element_, batch_);
    tiles_(column_, line_, panel_,
           batch_) += f.a(group * k_.y + k_.x, line_, batch_) *
                      f.widened(packed_(k_.x, column_, k_.y, panel_, batch_));
    const Expr panel = column_ / tile_columns;
    sum(column_, line_, batch_) = tiles_(column_ - first_column(panel), line_, panel, batch_);
}

void MatrixTiles::schedule(const Cpu &cpu, Halide::Func out, const OutputDims &dims, Order order,
                           const Conditions &c) {
    const auto &[column, line, batch] = dims;
    const bool strips_outside = order == Order::strips_outside;
    const int lanes = cpu.target.natural_vector_size(Halide::Int(32));
    const Var panel, strip, within;
    const Var outer = strips_outside ? strip : panel;
    const Var inner = strips_outside ? panel : strip;
    out.split(column, panel, within, tile_columns, Tail::GuardWithIf)
        .split(line, strip, row, cpu.pick("strip", {256, 128, 512}), Tail::GuardWithIf)
        .reorder(within, row, inner, outer, batch)
        .vectorize(within, lanes);
    out.specialize(c.in_parallel).parallel(batch).parallel(outer).parallel(inner);

    Halide::RVar block, group;
    tiles_.compute_at(out, inner)
        .bound(column_, 0, tile_columns)
        .vectorize(column_, lanes)
        .unroll(column_);
    tiles_.update()
        .split(k_.y, block, group, cpu.pick("block_k", {256, 128, 512}), Tail::GuardWithIf)
        .reorder(k_.x, column_, line_, group, block);
    packed_.compute_at(out, strips_outside ? batch : panel);
    schedule_packing(c);
}

// Rows of b are interleaved as vectors. Where b is contiguous along k, groups are copied one by
// one.
void MatrixTiles::schedule_packing(const Conditions &c) {
    packed_.bound(element_, 0, group_size_)
        .bound(column_, 0, tile_columns)
        .reorder(element_, column_, group_, panel_);
    const auto interleave = [&](Halide::Stage stage) {
        return stage.vectorize(column_, tile_columns).unroll(element_);
    };
    interleave(packed_.specialize(c.b_is_in_rows && c.in_parallel)).parallel(panel_);
    interleave(packed_.specialize(c.b_is_in_rows));
    packed_.specialize(c.in_parallel).vectorize(element_, group_size_).parallel(panel_);
    packed_.vectorize(element_, group_size_);
}

}  // namespace halyard
