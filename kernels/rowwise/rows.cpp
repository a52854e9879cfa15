#include "kernels/rowwise/rows.h"

#include <algorithm>
#include <iterator>

namespace halyard {
namespace {

// A task has about `task_elements` elements in whole rows, a block about `block_elements`.
constexpr int task_elements = 32768, block_elements = 1024, max_block_rows = 8;

}  // namespace

Rows::Rows(const std::string &name, const std::string &signature, bool along_axis)
    : Op(name, signature) {
    if (along_axis && signature.find("..") != std::string::npos) {
        attr("axis", -1);
        axis = "c";
    }
    const Dim c("c"), n("n");
    // Rows that do not fill the accumulators of "wide" are faster in the lanes of "short", unless
    // there are too few of them for a vector (docs/kernel_measurements.md, "rows").
    const DimExpr is_wide = c >= accumulators * lanes || (c >= 2 * lanes && n < lanes) ||
                            (c >= lanes && 4 * n <= lanes);
    add({"wide", is_wide, {.schedule = [this](const Cpu &cpu) { schedule_wide(cpu); }}});
    add({"short", c <= 256, {.schedule = [this](const Cpu &cpu) { schedule_short(cpu); }}});
    samples = {"n=1 c=1",   "n=3 c=7",   "n=5 c=64", "n=2 c=1000", "n=4 c=31", "n=4 c=33",
               "n=70 c=17", "n=33 c=10", "n=2 c=53", "n=2 c=71",   "n=3 c=87", "n=2 c=119"};
    bench = {"n=1024 c=1024", "n=4096 c=1024", "n=16384 c=256", "n=512 c=8192", "n=32 c=10"};
}

// Halves the partial sums down to 4, which are then added in order. Adding all lanes of a vector in
// order is slower (docs/kernel_measurements.md, "rows").
void reduce_in_lanes(Halide::Func f, const Halide::RVar &k, const Halide::Var &row, int lanes) {
    using namespace Halide;
    Var u("u");
    RVar ko, ki, half;
    constexpr int width = Rows::accumulators;
    Func part =
        f.update().split(k, ko, ki, width * lanes, TailStrategy::GuardWithIf).rfactor(ki, u);
    part.compute_at(f, row)
        .bound_extent(u, width * lanes)
        .vectorize(u, lanes)
        .unroll(u)
        .update()
        .reorder(u, ko)
        .vectorize(u, lanes)
        .unroll(u);
    for (int w = width * lanes / 2; w >= 4; w /= 2) {
        RVar next;
        Func fold = f.update().split(ki, half, next, w, TailStrategy::GuardWithIf).rfactor(next, u);
        fold.compute_at(f, row).bound_extent(u, w).vectorize(u, std::min(lanes, w)).unroll(u);
        fold.update().reorder(u, half).vectorize(u, std::min(lanes, w)).unroll(u).unroll(half);
        ki = next;
    }
    f.update().unroll(ki);
}

Halide::Expr Rows::rows_per_task() const {
    return max(1, task_elements / max(1, size("c")));
}

// Returns `maps` and, in a chain, the inputs that other ops compute: each is computed once per
// row and read by every stage.
std::vector<Halide::Func> Rows::stored_maps(std::vector<Func> maps) const {
    if (fused()) {
        std::copy_if(in.begin(), in.end(), std::back_inserter(maps),
                     [](const Func &f) { return f.dimensions() == 2; });
    }
    return maps;
}

// The vectors run along c, and the last vector of a row overlaps the one before it. Stages are
// computed for a block of rows, which stays in L1.
//
// With one reduction a block is one row. Several reductions may depend on each other (the sum of
// exponentials needs the maximum), so a block has up to `max_block_rows` rows, and each stage runs
// over all of them: rows don't wait for each other.
//
// While a map computes a block's exponentials, which wait for nothing, it prefetches the next
// block's rows, whose maxima would wait for memory. Prefetching in the last stage gains nothing.
// Measurements: docs/kernel_measurements.md, "rows".
void Rows::schedule_wide(const Cpu &cpu) {
    const int v = cpu.lanes;
    Func y = store();
    const Var each_row = y.args().back();
    Var task("task"), block("block"), row("row"), vec("vec"), lane("lane");
    const Expr block_rows = row_reductions.size() > 1
                                ? clamp(block_elements / max(1, size("c")),
                                        select(size("c") > 2 * block_elements, 1, 2),
                                        max_block_rows)
                                : 1;
    y.split(each_row, task, row, rows_per_task(), Tail::GuardWithIf)
        .parallel(task)
        .split(row, block, row, block_rows, Tail::GuardWithIf);
    if (y.dimensions() > 1) y.split(var(0), vec, lane, v, Tail::ShiftInwards).vectorize(lane);
    for (Func &f : row_reductions) {
        reduce_in_lanes(f, k, n, v);
        f.compute_at(y, block).bound_storage(n, max_block_rows);
    }
    // Rows that fill all accumulators need no guards in the reduction.
    y.specialize(size("c") >= accumulators * v);
    for (Func &f : row_scalars)
        f.compute_at(y, block).bound_storage(n, max_block_rows);
    std::vector<Func> maps = row_maps;
    maps.insert(maps.end(), prefetching_maps.begin(), prefetching_maps.end());
    for (Func &f : stored_maps(maps)) {
        f.compute_at(y, block).hoist_storage(y, task).bound_storage(f.args()[1], block_rows);
        f.split(f.args()[0], vec, lane, v, Tail::ShiftInwards).vectorize(lane);
        if (!fused()) {
            f.prefetch(memory[0], vec, f.args()[1], block_rows,
                       Halide::PrefetchBoundStrategy::NonFaulting);
        }
    }
}

// The vectors run across rows: `lanes` rows at a time, one in each lane. Short rows would leave
// most of a vector along c empty.
void Rows::schedule_short(const Cpu &cpu) {
    const int v = cpu.lanes;
    Func y = store();
    const Var each_row = y.args().back();
    Var task("task"), vec("vec"), lane("lane");
    y.split(each_row, vec, lane, v, Tail::GuardWithIf)
        .vectorize(lane)
        .split(vec, task, vec, max(1, rows_per_task() / v), Tail::GuardWithIf)
        .parallel(task);
    if (y.dimensions() > 1) y.reorder(lane, var(0), vec, task);
    for (Func &f : row_reductions)
        f.compute_at(y, vec).vectorize(n).update().vectorize(n);
    for (Func &f : row_scalars)
        f.compute_at(y, vec).vectorize(n);
    for (Func &f : stored_maps(row_maps)) {
        f.compute_at(y, vec)
            .hoist_storage(y, task)
            .reorder(f.args()[1], f.args()[0])
            .vectorize(f.args()[1]);
    }
}

}  // namespace halyard
