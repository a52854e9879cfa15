#include "kernels/reduction/reduction.h"

namespace halyard {

using Halide::Expr;
using Halide::likely;
using Halide::RVar;
using Halide::unsafe_promise_clamped;
using Halide::Var;

namespace {

constexpr int run = 16;
constexpr int width = reduction_width;
constexpr int task_elements = reduction_task_elements;
constexpr int most_unrolled = 8;
// short rows: in a block of them, and folded in the same vectors
constexpr int narrow_width = 16, block_rows = 16, rows_at_once = 4;

Expr blocks(const Expr &n, int of) {
    return (n + (of - 1)) / of;
}

}  // namespace

void in_registers(Halide::Stage f, const Halide::VarOrRVar &v, int lanes) {
    f.vectorize(v, lanes);
    if (width / lanes <= most_unrolled) f.unroll(v);
}

Reduction::Reduction(const std::string &name, const std::string &mindspore,
                     const std::string &result)
    : Op(name, "x[o,r,i,s] -> y" + (result.empty() ? "" : ":" + result) + "[o,i]") {
    form = Form::reduction;
    any_strides = true;
    alias = mindspore;
    attrs.push_back({"axis", AttrKind::ints, "", {}, {}, true});
    flag("keep_dims", false);
    variants = {{"whole", "s>=262144 o*i<=4"},
                {"short", "s>=16 s<=1024 r==1 i>=16"},
                {"tall", "s<16 r>=1024 o*i<=65536 i>=8*lanes"},
                {"thin", "s<16 r>=1024 o*i<=65536"},
                {"columns", "s<16"},
                {"rows", ""}};
    samples = {"o=1 r=1 i=1 s=1 axis=1,3",      "o=2 r=3 i=5 s=7 axis=1,3",
               "o=1 r=1 i=3 s=17 axis=1,3",     "o=3 r=2 i=5 s=63 axis=1,3",
               "o=1 r=1 i=7 s=65 axis=1,3",     "o=1 r=31 i=33 s=1 axis=1,3",
               "o=3 r=257 i=15 s=1 axis=1,3",   "o=1 r=1031 i=17 s=1 axis=1,3",
               "o=2 r=1031 i=530 s=1 axis=1,3", "o=2 r=1 i=1 s=16411 axis=1,3",
               "o=1 r=1 i=2 s=262181 axis=1,3", "o=1 r=1063 i=61 s=3 axis=1,3",
               "o=1 r=37 i=131 s=1 axis=1,3",   "o=2 r=1063 i=133 s=2 axis=1,3",
               "o=1 r=1 i=17 s=65 axis=1,3",    "o=1 r=1 i=35 s=128 axis=1,3",
               "o=2 r=1 i=33 s=16 axis=1,3",    "o=1 r=1 i=1031 s=127 axis=1,3",
               "o=1 r=4099 i=2 s=17 axis=1,3",  "o=1 r=8209 i=129 s=1 axis=1,3",
               "o=1 r=8209 i=3 s=1 axis=1,3"};
    bench = {"o=1 r=1 i=1 s=4194304 axis=1,3", "o=1 r=1 i=4096 s=1024 axis=1,3",
             "o=1 r=4096 i=1024 s=1 axis=1,3", "o=1 r=1 i=12288 s=128 axis=1,3",
             "o=1 r=32 i=64 s=3136 axis=1,3",  "o=1 r=32 i=10 s=1 axis=1,3"};
}
void Reduction::algorithm() {
    count = math::real(size("r")) * math::real(size("s"));
    if (is_plain()) return as_stated();
    if (variant == "short") return short_rows();
    const Expr n = along_s() ? blocks(size("s"), width) : size("r");
    const Expr whole_blocks = size("s") / width;
    k[0] = along_s() ? RDom(0, run) : RDom(0, size("s"), 0, run);
    const Expr at = along_s() ? t * run + k[0].x : t * run + k[0].y;
    k[0].where(at < (along_s() ? whole_blocks : n));
    if (!along_s() && variant != "tall") k[0].where(likely(i < size("i")));
    const Expr element =
        along_s() ? x(unsafe_promise_clamped(at, 0, whole_blocks - 1) * width + u, i, r, o)
                  : x(k[0].x, variant == "tall" ? i : unsafe_promise_clamped(i, 0, size("i") - 1),
                      unsafe_promise_clamped(at, 0, n - 1), o);
    const std::vector<Var> args = along_s() ? std::vector<Var>{u, t, i, r, o}
                                            : std::vector<Var>{i, t, o};
    level[0](args) = start();
    level[0](args) = combine(level[0](args), load(element));
    if (along_s()) {  // the last, broken block
        const Expr at_end = whole_blocks * width + u;
        RDom once(0, 1);
        once.where(whole_blocks / run == t);
        once.where(at_end < size("s"));
        level[0](args) = combine(
            level[0](args),
            load(x(unsafe_promise_clamped(at_end + once, 0, size("s") - 1), i, r, o)));
    }
    auto part = [&](const Func &f, const Expr &place) {
        return along_s() ? f(u, place, i, r, o) : f(i, place, o);
    };
    Expr m = n;
    for (int l = 1; l < 3; l++) {
        m = blocks(m, run);
        k[l] = RDom(0, run);
        k[l].where(t * run + k[l].x < m);
        level[l](args) = start();
        level[l](args) = combine(
            level[l](args), part(level[l - 1], unsafe_promise_clamped(t * run + k[l].x, 0, m - 1)));
    }
    m = blocks(m, run);
    if (!along_s()) {
        k[3] = RDom(0, m);
        all(i, o) = start();
        all(i, o) = combine(all(i, o), level[2](i, k[3].x, o));
        y(i, o) = finish(all(i, o));
        return;
    }
    Expr rows = size("r");
    for (int l = 0; l < 3; l++) {
        k[4 + l] = l == 0 ? RDom(0, m, 0, run) : RDom(0, 1, 0, run);
        const Expr place = t * run + k[4 + l].y;
        k[4 + l].where(place < rows);
        const Expr inside = unsafe_promise_clamped(place, 0, rows - 1);
        over[l](u, t, i, o) = start();
        over[l](u, t, i, o) = combine(over[l](u, t, i, o), l == 0
                                                               ? level[2](u, k[4].x, i, inside, o)
                                                               : over[l - 1](u, inside, i, o));
        rows = blocks(rows, run);
    }
    k[3] = RDom(0, rows);
    all(u, i, o) = start();
    all(u, i, o) = combine(all(u, i, o), over[2](u, k[3].x, i, o));
    fold(all, width);
}

void Reduction::as_stated() {
    k[0] = RDom(0, size("s"), 0, size("r"));
    all(i, o) = start();
    all(i, o) = combine(all(i, o), load(x(k[0].x, i, k[0].y, o)));
    y(i, o) = finish(all(i, o));
}

void Reduction::fold(const Func &wide, int from_width) {
    Func from = wide;
    for (int w = from_width / 2, f = 0; w > 0; w /= 2, f++) {
        folds[f] = Func("fold" + std::to_string(w));
        folds[f](u, i, o) = combine(from(u, i, o), from(u + w, i, o));
        from = folds[f];
    }
    y(i, o) = finish(from(0, i, o));
}

// Rows of one run at most. What is left of whole blocks goes to 16 partial results: whole vectors
// of them, and the row's last 16 elements, of which those that were there already count for
// nothing. The last block of rows repeats the last row.
void Reduction::short_rows() {
    const Expr s = size("s");
    const Expr row = min(i, size("i") - 1);
    const Expr whole_blocks = s / width;
    const Expr rest = s % width;
    k[0] = RDom(0, whole_blocks);
    k[1] = RDom(0, rest / narrow_width);
    all(u, i, o) = start();
    all(u, i, o) = combine(all(u, i, o), load(x(k[0] * width + u, row, 0, o)));
    narrow(u, i, o) = combine(combine(all(u, i, o), all(u + width / 2, i, o)),
                              combine(all(u + width / 4, i, o), all(u + 3 * width / 4, i, o)));
    narrow(u, i, o) = combine(narrow(u, i, o),
                              load(x(whole_blocks * width + k[1] * narrow_width + u, row, 0, o)));
    const Expr last = load(x(s - narrow_width + u, row, 0, o));
    narrow(u, i, o) = combine(narrow(u, i, o),
                              select(u >= narrow_width - s % narrow_width, last, start()));
    fold(narrow, narrow_width);
}

// Rows: `width` partial results in registers, one row after another. The condition on lanes stands
// apart, for the last, broken block: on every block it kept the sums in memory, and 4096 rows of
// 1024 took 1.8 times as long.
void Reduction::schedule_rows(const Cpu &cpu) {
    const bool whole = variant == "whole";
    // a task, of 256 blocks
    const int v = std::min(cpu.lanes, width);
    const int runs = task_elements / (run * run * width);
    Func last = store();
    Var row("row"), task("task"), ri("ri");
    const Expr dense = memory[0].dim(0).stride() == 1;
    last.fuse(var(0), var(1), row)
        .split(row, task, ri, max(1, task_elements / max(1, size("r") * size("s"))),
               Tail::GuardWithIf);
    if (!whole) last.parallel(task);
    all.compute_at(last, ri).bound(u, 0, width);
    in_registers(all, u, v);
    in_registers(all.update().reorder(u, k[3].x), u, v);
    for (int l = 2; l >= 0; l--) {
        over[l]
            .compute_at(l == 2 ? all : over[l + 1], l == 2 ? k[3].x : k[5 + l].y)
            .bound(u, 0, width);
        in_registers(over[l], u, v);
        in_registers(over[l].update().reorder(u, k[4 + l].x, k[4 + l].y), u, v);
    }
    for (int w = width / 2, f = 0; w > 0; w /= 2, f++) {
        folds[f].compute_at(last, ri).bound_extent(u, w);
        if (w >= v)
            folds[f].vectorize(u, v);
        else if (w > 1)
            folds[f].vectorize(u, w);
    }
    for (int l = 2; l >= 0; l--) {
        if (l == 2)
            level[l].compute_at(over[0], k[4].x);
        else if (whole && l == 1)
            level[l].compute_root().parallel(t, runs, Tail::GuardWithIf);
        else
            level[l].compute_at(level[l + 1], k[l + 1].x);
        level[l].bound(u, 0, width);
        in_registers(level[l], u, v);
        in_registers(level[l].update().reorder(u, k[l].x), u, v);
        if (l == 0) in_registers(level[l].update(1), u, v);
        if (whole && l == 1)
            level[l].update().parallel(t, runs, Tail::GuardWithIf).specialize(dense);
    }
    last.specialize(dense);
}

// Short rows: blocks of 16, each row brought to 16 partial results, from which 4 rows at a time go
// on in the same vectors. Rows of whole blocks know nothing of ends: 0.90 (32768 x 128) and 0.79 of
// the time (12288 x 64; Zen 5, 1 thread), with AVX2 0.86 and 0.92. Fetching the next block of rows
// took 1.23 times as long, the next row 1.08.
void Reduction::schedule_short(const Cpu &cpu) {
    const int v = std::min(cpu.lanes, width);
    Func last = store();
    Var block("block"), row("row"), task("task"), four("four");
    last.split(var(0), block, row, block_rows, Tail::GuardWithIf)
        .vectorize(row, std::min(v, block_rows));
    last.split(block, task, block, max(1, task_elements / block_rows / size("s")),
               Tail::GuardWithIf)
        .fuse(task, var(1), task)
        .parallel(task);
    Func lanes = narrow.in();  // a row's 16 stay in registers until they are done
    lanes.compute_at(last, block)
        .bound_extent(i, block_rows)
        .bound_extent(u, narrow_width)
        .vectorize(u, std::min(v, narrow_width));
    narrow.compute_at(lanes, i);
    in_registers(narrow, u, std::min(v, narrow_width));
    in_registers(narrow.update().reorder(u, k[1]), u, std::min(v, narrow_width));
    in_registers(narrow.update(1), u, std::min(v, narrow_width));
    all.compute_at(narrow, i).bound(u, 0, width);
    in_registers(all, u, v);
    in_registers(all.update().reorder(u, k[0]), u, v);
    for (int w = narrow_width / 2, f = 0; w > 0; w /= 2, f++) {
        folds[f]
            .compute_at(last, block)
            .bound_extent(i, block_rows)
            .bound_extent(u, w)
            .split(i, i, four, rows_at_once, Tail::RoundUp);
        folds[f].reorder(u, four, i).vectorize(u).vectorize(four).unroll(i);
    }
    const Expr dense = memory[0].dim(0).stride() == 1;
    last.specialize(dense && memory[0].dim(0).extent() % width == 0);
    last.specialize(dense);
}

// Columns: i goes into vectors; a wide piece of 16 rows at a time, in tiles that fit registers.
void Reduction::schedule_columns(const Cpu &cpu) {
    const bool thin = variant == "thin";
    const int v = std::min(cpu.lanes, width);
    const int wide = cpu.pick("wide", {1024, 512, 4096});
    Func last = store();
    Var vec("vec"), lane("lane"), piece("piece"), tile("tile"), ii("ii"), task("task");
    // a task, of 256 rows
    const Expr parts = max(1, task_elements / (run * run) / max(1, size("i")));
    auto tiled = [&](Func f) { in_registers(f.split(i, tile, ii, width, Tail::RoundUp), ii, v); };
    auto tiled_update = [&](Func f, const RVar &along) {
        in_registers(f.update().split(i, tile, ii, width, Tail::RoundUp).reorder(ii, tile, along),
                     ii, v);
    };
    last.split(var(0), vec, lane, v, Tail::GuardWithIf)
        .vectorize(lane)
        .split(vec, piece, vec, wide / v, Tail::GuardWithIf);
    last.fuse(piece, var(1), task).parallel(task);
    all.compute_at(last, task);
    tiled(all);
    tiled_update(all, k[3].x);
    for (int l = 2; l > 0; l--) {
        if (l == 2)
            level[l].compute_at(all, k[3].x);
        else if (thin)
            level[l].compute_root().fuse(t, o, task).parallel(task, parts, Tail::GuardWithIf);
        else
            level[l].compute_at(level[l + 1], k[l + 1].x);
        tiled(level[l]);
        tiled_update(level[l], k[l].x);
        if (thin && l == 1)
            level[l].update().fuse(t, o, task).parallel(task, parts, Tail::GuardWithIf);
    }
    level[0].compute_at(level[1], tile).bound_extent(i, width);
    in_registers(level[0], i, v);
    in_registers(level[0].update().reorder(i, k[0].x, k[0].y), i, v);
    level[1].specialize(memory[0].dim(1).stride() == 1);
    level[1].update().specialize(memory[0].dim(1).stride() == 1);
}

// Tall: 256 rows a task, in tiles of 8 vectors; the last tile overlaps the one before it. 1.9 times
// as fast for 4096 x 1024 as `thin`, whose condition on lanes keeps sums in memory.
void Reduction::schedule_tall(const Cpu &cpu) {
    const int v = std::min(cpu.lanes, width);
    const int across = 8 * v;
    Func last = store();
    Func task_sums = level[1].in();
    Var vec("vec"), lane("lane"), tile("tile"), ii("ii"), task("task");
    const Expr dense = memory[0].dim(1).stride() == 1;
    last.compute_root()
        .split(var(0), vec, lane, v, Tail::ShiftInwards)
        .vectorize(lane)
        .parallel(var(1));
    all.compute_at(last, vec).vectorize(i).update().vectorize(i);
    level[2].compute_at(all, k[3].x).vectorize(i).update().vectorize(i);
    task_sums.compute_root()
        .split(i, tile, ii, across, Tail::ShiftInwards)
        .vectorize(ii, v)
        .unroll(ii)
        .reorder(ii, tile, t, o)
        .fuse(t, o, task)
        .parallel(task);
    level[1]
        .compute_at(task_sums, tile)
        .vectorize(i, v)
        .unroll(i)
        .update()
        .reorder(i, k[1].x)
        .vectorize(i, v)
        .unroll(i);
    level[0]
        .compute_at(level[1], k[1].x)
        .vectorize(i, v)
        .unroll(i)
        .update()
        .reorder(i, k[0].x, k[0].y)
        .vectorize(i, v)
        .unroll(i);
    task_sums.specialize(dense);
}

void Reduction::schedule(const Cpu &cpu) {
    if (variant == "short")
        schedule_short(cpu);
    else if (variant == "tall")
        schedule_tall(cpu);
    else
        along_s() ? schedule_rows(cpu) : schedule_columns(cpu);
}

}  // namespace halyard
