#include "kernels/rowwise/rows.h"

#include <algorithm>
#include <iterator>

namespace halyard {
namespace {

constexpr int task_elements = 32768, block_elements = 1024, most_rows = 8;

}  // namespace

Rows::Rows(const std::string &name, const std::string &signature, bool along_axis)
    : Op(name, signature) {
    if (along_axis && signature.find("..") != std::string::npos) {
        attr("axis", -1);
        axis = "c";
    }
    variants = {{"wide", "c>=2*lanes||c>=lanes&&n<lanes"}, {"short", "c<=256"}};
    samples = {"n=1 c=1",   "n=3 c=7",   "n=5 c=64", "n=2 c=1000", "n=4 c=31", "n=4 c=33",
               "n=70 c=17", "n=33 c=10", "n=2 c=53", "n=2 c=71",   "n=3 c=87", "n=2 c=119"};
    bench = {"n=1024 c=1024", "n=4096 c=1024", "n=16384 c=256", "n=512 c=8192", "n=32 c=10"};
}

void reduce_in_lanes(Halide::Func f, const Halide::RVar &k, const Halide::Var &row, int lanes) {
    using namespace Halide;
    Var u("u");
    RVar ko, ki, half;
    constexpr int chains = Rows::chains;
    Func part =
        f.update().split(k, ko, ki, chains * lanes, TailStrategy::GuardWithIf).rfactor(ki, u);
    part.compute_at(f, row)
        .bound_extent(u, chains * lanes)
        .vectorize(u, lanes)
        .unroll(u)
        .update()
        .reorder(u, ko)
        .vectorize(u, lanes)
        .unroll(u);
    for (int w = chains * lanes / 2; w >= 4; w /= 2) {
        RVar next;
        Func fold = f.update().split(ki, half, next, w, TailStrategy::GuardWithIf).rfactor(next, u);
        fold.compute_at(f, row).bound_extent(u, w).vectorize(u, std::min(lanes, w)).unroll(u);
        fold.update().reorder(u, half).vectorize(u, std::min(lanes, w)).unroll(u).unroll(half);
        ki = next;
    }
    f.update().unroll(ki);
}

// wide: a row at a time, kept in L1, with `chains` vectors of partial totals, folded by halves down
// to 4 lanes, which are added one after another. With one vector, all its lanes added so, and the
// general exp, softmax took 1.21 (4096 x 1024), 1.06 (16384 x 256) and 1.36 times as long (512 x
// 8192; 1 thread, Zen 5). The last vector of a row overlaps the one before it. With several totals,
// which may wait for each other, it is a block of up to most_rows rows, stage after stage:
// different rows don't wait. One at a time, softmax took 2.0 times as long for 12288 x 128, 1.4 for
// 16384 x 256 and 1.06 for 1024 x 1024 (same machine), in fours 1.05 for 12288 x 128. Gradients,
// with one total, took up to 1.1 times as long in fours as one at a time. While a block's
// exponentials are computed, which wait for nothing, the next block's rows are fetched, whose
// maxima would wait for memory: softmax takes 0.75 (4096 x 1024), 0.9 (512 x 8192), 0.93 (511 x
// 1000) and 1.03 of the time (128 x 100, which is near anyway), log_softmax, which stores its
// exponentials for that, 0.77, 0.96 (511 x 1000), 0.92 (12288 x 128) and 1.12 (128 x 100; same
// machine, AVX-512; 0.92 to 1.0 with AVX2). Fetched while the last stage stores, rows of norms and
// gradients gained nothing. Cross entropy of class numbers, with one vector of partial totals and
// the general exp, took 1.37 (4096 x 1024) and 1.48 times as long (160 x 30522), its gradient 1.20
// (4096 x 1024; same machine). short: `lanes` rows at a time, one in each lane.
void Rows::schedule(const Cpu &cpu) {
    const int v = cpu.lanes;
    Func y = store();
    const bool maps = y.dimensions() > 1;
    const Var each = y.args().back();
    Var task("task"), block("block"), row("row"), vec("vec"), lane("lane");
    const Expr rows = max(1, task_elements / max(1, size("c")));
    // and inputs that are computed: once per row, then read by every stage
    std::vector<Func> staged = row_stages;
    if (fused()) {
        std::copy_if(in.begin(), in.end(), std::back_inserter(staged),
                     [](const Func &f) { return f.dimensions() == 2; });
    }
    if (variant == "short") {
        y.split(each, vec, lane, v, Tail::GuardWithIf)
            .vectorize(lane)
            .split(vec, task, vec, max(1, rows / v), Tail::GuardWithIf)
            .parallel(task);
        if (maps) y.reorder(lane, var(0), vec, task);
        for (Func &f : totals)
            f.compute_at(y, vec).vectorize(n).update().vectorize(n);
        for (Func &f : per_row)
            f.compute_at(y, vec).vectorize(n);
        for (Func &f : staged) {
            f.compute_at(y, vec)
                .hoist_storage(y, task)
                .reorder(f.args()[1], f.args()[0])
                .vectorize(f.args()[1]);
        }
        return;
    }
    const Expr block_rows = totals.size() > 1
                                ? clamp(block_elements / max(1, size("c")),
                                        select(size("c") > 2 * block_elements, 1, 2), most_rows)
                                : 1;
    y.split(each, task, row, rows, Tail::GuardWithIf)
        .parallel(task)
        .split(row, block, row, block_rows, Tail::GuardWithIf);
    if (maps) y.split(var(0), vec, lane, v, Tail::ShiftInwards).vectorize(lane);
    for (Func &f : totals) {
        reduce_in_lanes(f, k, n, v);
        f.compute_at(y, block).bound_storage(n, most_rows);
    }
    y.specialize(size("c") >= chains * v);
    for (Func &f : per_row)
        f.compute_at(y, block).bound_storage(n, most_rows);
    for (Func &f : staged) {
        f.compute_at(y, block).hoist_storage(y, task).bound_storage(f.args()[1], block_rows);
        f.split(f.args()[0], vec, lane, v, Tail::ShiftInwards).vectorize(lane);
        if (!fused()) {
            f.prefetch(memory[0], vec, f.args()[1], block_rows,
                       Halide::PrefetchBoundStrategy::NonFaulting);
        }
    }
}

void Rows::schedule(const Gpu &) {
    Var ci{"ci"};
    store().gpu_tile(var(0), ci, 64, Tail::GuardWithIf);
    store().gpu_blocks(var(1));
    for (Func &f : totals) {
        f.compute_root().gpu_tile(n, ci, 8, Tail::GuardWithIf);
        f.update().gpu_tile(n, ci, 8, Tail::GuardWithIf);
    }
}

}  // namespace halyard
