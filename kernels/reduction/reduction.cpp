#include "kernels/reduction/reduction.h"

#include "dsl/gpu/plain_schedule.h"
#include "dsl/gpu/row_kernels.h"

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
constexpr int max_unrolled = 8;
constexpr int longest_of_one_thread = 1024;  // elements of a row that one thread of a GPU reduces
// Short rows: the partial results of a row, the rows of a block, the rows folded in one vector.
constexpr int narrow_width = 16, block_rows = 16, rows_per_vector = 4;

Expr ceil_div(const Expr &n, int by) {
    return (n + (by - 1)) / by;
}

}  // namespace

void in_registers(Halide::Stage f, const Halide::VarOrRVar &v, int lanes) {
    f.vectorize(v, lanes);
    if (width / lanes <= max_unrolled) f.unroll(v);
}

Reduction::Reduction(const std::string &name, const std::string &mindspore,
                     const std::string &result)
    : Op(name, "x[o,r,i,s] -> y" + (result.empty() ? "" : ":" + result) + "[o,i]") {
    form = Form::reduction;
    any_strides = true;
    alias = mindspore;
    at_call("axis", AttrKind::ints, "");
    flag("keep_dims", false);
    declare_variants();
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
               "o=1 r=8209 i=3 s=1 axis=1,3",   "o=1 r=263 i=2 s=67 axis=1,3"};
    bench = {"o=1 r=1 i=1 s=4194304 axis=1,3", "o=1 r=1 i=4096 s=1024 axis=1,3",
             "o=1 r=4096 i=1024 s=1 axis=1,3", "o=1 r=1 i=12288 s=128 axis=1,3",
             "o=1 r=32 i=64 s=3136 axis=1,3",  "o=1 r=32 i=10 s=1 axis=1,3"};
}

void Reduction::declare_variants() {
    const Dim o("o"), r("r"), i("i"), s("s");
    const auto variant = [this](const char *name, const DimExpr &when, auto tree, auto schedule) {
        const auto algorithm = [this, tree](const Build &build) {
            // Ascend has its own order of summation (dsl/ascend/lowering/reduce.h).
            if (build.is_ascend()) return define_plain();
            begin_tree();
            tree();
        };
        add({name, when, {.algorithm = algorithm, .schedule = schedule}});
    };
    const auto row_tree = [this] { define_row_tree(); };
    const auto column_tree = [this] { define_column_tree(false); };
    const DimExpr few_columns = s < 16 && r >= 1024 && o * i <= 65536;
    // few long rows: threads share a row
    variant("whole", s >= 262144 && o * i <= 4, row_tree,
            [this](const Cpu &cpu) { schedule_rows(cpu, true); });
    // rows of one run at most
    variant(
        "short", s >= 16 && s <= 1024 && r == 1 && i >= 16, [this] { define_short_rows(); },
        [this](const Cpu &cpu) { schedule_short(cpu); });
    // columns: threads share r, wide tiles
    variant(
        "tall", few_columns && i >= 8 * lanes, [this] { define_column_tree(true); },
        [this](const Cpu &cpu) { schedule_tall(cpu); });
    // columns: threads share r
    variant("thin", few_columns, column_tree,
            [this](const Cpu &cpu) { schedule_columns(cpu, true); });
    // columns: threads share i
    variant("columns", s < 16, column_tree,
            [this](const Cpu &cpu) { schedule_columns(cpu, false); });
    variant("rows", DimExpr::always(), row_tree,
            [this](const Cpu &cpu) { schedule_rows(cpu, false); });
    declare_gpu_variants();
}

void Reduction::declare_gpu_variants() {
    const Dim o("o"), r("r"), i("i"), s("s");
    // rows that are short, or as many as a GPU has warps
    add_for_gpu({"warps",
                 s >= 16 && r == 1 && (s <= longest_of_one_thread || o * i >= 1024),
                 {.algorithm = [this](const Build &) { define_lanes(); },
                  .schedule_on_gpu =
                      [this](const Gpu &) {
                          Func stored = store();
                          gpu::reduce_by_warps(runs[0], u, partial, stored);
                      }}});
    // columns: neighbouring threads have neighbouring results
    add_for_gpu({"columns_by_threads",
                 s < 16,
                 {.algorithm = [this](const Build &) { define_chunks(true); },
                  .schedule_on_gpu = [this](const Gpu &) { schedule_chunks(); }}});
    // few long rows: neighbouring threads have neighbouring chunks
    add_for_gpu({"chunks",
                 DimExpr::always(),
                 {.algorithm = [this](const Build &) { define_chunks(false); },
                  .schedule_on_gpu = [this](const Gpu &) { schedule_chunks(); }}});
}

void Reduction::begin_tree() {
    is_plain_ = false;
    count = math::real(size("r")) * math::real(size("s"));
}

void Reduction::define_plain() {
    is_plain_ = true;
    count = math::real(size("r")) * math::real(size("s"));
    const RDom k(0, size("s"), 0, size("r"));
    partial(i, o) = start();
    partial(i, o) = combine(partial(i, o), load(x(k.x, i, k.y, o)));
    y(i, o) = finish(partial(i, o));
}

// The tree of rows that a GPU's warps reduce: each thread of a warp has every 32nd element.
void Reduction::define_lanes() {
    begin_tree();
    const Expr s = size("s");
    RDom &k = run_domain[0];
    k = RDom(0, ceil_div(s, gpu::warp));
    const Expr at = k * gpu::warp + u;
    k.where(at < s);
    runs[0](u, i, o) = start();
    runs[0](u, i, o) = combine(runs[0](u, i, o),
                               load(x(unsafe_promise_clamped(at, 0, s - 1), i, 0, o)));
    top_domain = RDom(0, gpu::warp);
    partial(i, o) = start();
    partial(i, o) = combine(partial(i, o), runs[0](top_domain.x, i, o));
    y(i, o) = finish(partial(i, o));
}

// The tree of GPUs: chunks of 64 elements, chunks of 64 such results, and so on. A chunk has every
// (number of chunks)-th element, so that threads of neighbouring chunks read neighbours. Of
// columns, neighbouring threads have chunks of neighbouring results. A short row or column is
// reduced by one thread: then the kernels of the chunks aren't launched.
void Reduction::define_chunks(bool of_columns) {
    begin_tree();
    const std::vector<Var> args = of_columns ? std::vector{i, t, o} : std::vector{t, i, o};
    const Expr s = max(size("s"), 1);
    Expr below = size("s") * size("r");
    for (int l = 0; l < 3; l++) {
        const Expr chunks = ceil_div(below, width);
        RDom &k = run_domain[l];
        k = RDom(0, width);
        const Expr at = t + k.x * chunks;
        k.where(at < below);
        const Expr inside = unsafe_promise_clamped(at, 0, below - 1);
        runs[l](args) = start();
        runs[l](args) = combine(runs[l](args), l == 0 ? load(x(inside % s, i, inside / s, o))
                                                      : runs[l - 1](chunk_at(args, inside)));
        below = chunks;
    }
    top_domain = RDom(0, below);
    partial(i, o) = start();
    partial(i, o) = combine(partial(i, o), runs[2](chunk_at(args, top_domain.x)));
    const RDom all(0, size("s"), 0, size("r"));
    by_one_thread(i, o) = start();
    by_one_thread(i, o) = combine(by_one_thread(i, o), load(x(all.x, i, all.y, o)));
    const Expr is_short = size("s") * size("r") <= longest_of_one_thread;
    y(i, o) = finish(select(is_short, by_one_thread(i, o), partial(i, o)));
}

// Returns `args` with another chunk than t.
std::vector<Expr> Reduction::chunk_at(const std::vector<Var> &args, const Expr &chunk) const {
    std::vector<Expr> at;
    for (const Var &v : args)
        at.push_back(v.same_as(t) ? chunk : Expr(v));
    return at;
}

void Reduction::schedule_chunks() {
    gpu::plain_schedule({store()}, gpu::Row::by_thread);
}

// The tree of rows: along s in blocks of `width` elements, one for each partial result u.
void Reduction::define_row_tree() {
    const Expr blocks = ceil_div(size("s"), width);
    const Expr whole_blocks = size("s") / width;
    RDom &k = run_domain[0];
    k = RDom(0, run);
    const Expr block = t * run + k.x;
    k.where(block < whole_blocks);
    runs[0](u, t, i, r, o) = start();
    runs[0](u, t, i, r, o) = combine(
        runs[0](u, t, i, r, o),
        load(x(unsafe_promise_clamped(block, 0, whole_blocks - 1) * width + u, i, r, o)));
    // The last, broken block is an update of its own. A condition on u in the update above would
    // keep the partial results in memory.
    const Expr at_end = whole_blocks * width + u;
    RDom once(0, 1);
    once.where(whole_blocks / run == t);
    once.where(at_end < size("s"));
    runs[0](u, t, i, r,
            o) = combine(runs[0](u, t, i, r, o),
                         load(x(unsafe_promise_clamped(at_end + once, 0, size("s") - 1), i, r, o)));
    define_row_runs(define_runs(blocks, {u, t, i, r, o}));
}

// The tree of columns: along r, of which a run has 16. The few elements of s are in the leaves.
void Reduction::define_column_tree(bool whole_tiles) {
    const Expr rows = size("r");
    RDom &k = run_domain[0];
    k = RDom(0, size("s"), 0, run);
    const Expr row = t * run + k.y;
    k.where(row < rows);
    if (!whole_tiles) k.where(likely(i < size("i")));
    const Expr element = x(k.x, whole_tiles ? i : unsafe_promise_clamped(i, 0, size("i") - 1),
                           unsafe_promise_clamped(row, 0, rows - 1), o);
    runs[0](i, t, o) = start();
    runs[0](i, t, o) = combine(runs[0](i, t, o), load(element));
    top_domain = RDom(0, define_runs(rows, {i, t, o}));
    partial(i, o) = start();
    partial(i, o) = combine(partial(i, o), runs[2](i, top_domain.x, o));
    y(i, o) = finish(partial(i, o));
}

// Defines runs[1] and runs[2], whose arguments are `args`, with t second. `count_below` is the
// number of elements or blocks that runs[0] combines. Returns the number of results of runs[2].
Halide::Expr Reduction::define_runs(Expr count_below, const std::vector<Var> &args) {
    for (int l = 1; l < 3; l++) {
        count_below = ceil_div(count_below, run);
        RDom &k = run_domain[l];
        k = RDom(0, run);
        k.where(t * run + k.x < count_below);
        std::vector<Expr> below(args.begin(), args.end());
        below[1] = unsafe_promise_clamped(t * run + k.x, 0, count_below - 1);
        runs[l](args) = start();
        runs[l](args) = combine(runs[l](args), runs[l - 1](below));
    }
    return ceil_div(count_below, run);
}

// Defines row_runs, which combine the results of a row (`runs_left` of them) and then runs of rows,
// and the fold of what remains.
void Reduction::define_row_runs(const Expr &runs_left) {
    Expr rows = size("r");
    for (int l = 0; l < 3; l++) {
        RDom &k = row_domain[l];
        k = l == 0 ? RDom(0, runs_left, 0, run) : RDom(0, 1, 0, run);
        const Expr row = t * run + k.y;
        k.where(row < rows);
        const Expr inside = unsafe_promise_clamped(row, 0, rows - 1);
        const Expr below = l == 0 ? runs[2](u, k.x, i, inside, o)
                                  : row_runs[l - 1](u, inside, i, o);
        row_runs[l](u, t, i, o) = start();
        row_runs[l](u, t, i, o) = combine(row_runs[l](u, t, i, o), below);
        rows = ceil_div(rows, run);
    }
    top_domain = RDom(0, rows);
    partial(u, i, o) = start();
    partial(u, i, o) = combine(partial(u, i, o), row_runs[2](u, top_domain.x, i, o));
    fold(partial, width);
}

// Folds partial results (u, i, o) by halves to y.
void Reduction::fold(const Func &wide, int from_width) {
    Func from = wide;
    for (int w = from_width / 2, f = 0; w > 0; w /= 2, f++) {
        folds[f] = Func("fold" + std::to_string(w));
        folds[f](u, i, o) = combine(from(u, i, o), from(u + w, i, o));
        from = folds[f];
    }
    y(i, o) = finish(from(0, i, o));
}

// Rows of one run at most. Whole blocks of 64 elements give 64 partial results, which become 16.
// To these the remaining elements are added: vectors of 16, and at last the row's last 16 elements,
// of which those already added are replaced by start(). The last block of rows repeats the last
// row.
void Reduction::define_short_rows() {
    const Expr s = size("s");
    const Expr row = min(i, size("i") - 1);
    const Expr whole_blocks = s / width;
    const Expr remaining = s % width;
    const RDom &block = run_domain[0] = RDom(0, whole_blocks);
    const RDom &vector = run_domain[1] = RDom(0, remaining / narrow_width);
    partial(u, i, o) = start();
    partial(u, i, o) = combine(partial(u, i, o), load(x(block * width + u, row, 0, o)));
    narrow_partial(u, i, o) = combine(
        combine(partial(u, i, o), partial(u + width / 2, i, o)),
        combine(partial(u + width / 4, i, o), partial(u + 3 * width / 4, i, o)));
    narrow_partial(u, i, o) = combine(
        narrow_partial(u, i, o),
        load(x(whole_blocks * width + vector * narrow_width + u, row, 0, o)));
    const Expr last = load(x(s - narrow_width + u, row, 0, o));
    narrow_partial(u, i, o) = combine(narrow_partial(u, i, o),
                                      select(u >= narrow_width - s % narrow_width, last, start()));
    fold(narrow_partial, narrow_width);
}

// Rows: `width` partial results stay in registers, one row after another.
void Reduction::schedule_rows(const Cpu &cpu, bool shares_rows) {
    const int v = std::min(cpu.lanes, width);
    // The runs of a task, of 256 blocks each.
    const int parallel_runs = task_elements / (run * run * width);
    Func last = store();
    Var row("row"), task("task"), ri("ri");
    const Expr dense = memory[0].dim(0).stride() == 1;
    last.fuse(var(0), var(1), row)
        .split(row, task, ri, max(1, task_elements / max(1, size("r") * size("s"))),
               Tail::GuardWithIf);
    if (!shares_rows) last.parallel(task);
    partial.compute_at(last, ri).bound(u, 0, width);
    in_registers(partial, u, v);
    in_registers(partial.update().reorder(u, top_domain.x), u, v);
    for (int l = 2; l >= 0; l--) {
        row_runs[l]
            .compute_at(l == 2 ? partial : row_runs[l + 1],
                        l == 2 ? top_domain.x : row_domain[l + 1].y)
            .bound(u, 0, width);
        in_registers(row_runs[l], u, v);
        in_registers(row_runs[l].update().reorder(u, row_domain[l].x, row_domain[l].y), u, v);
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
            runs[l].compute_at(row_runs[0], row_domain[0].x);
        else if (shares_rows && l == 1)
            runs[l].compute_root().parallel(t, parallel_runs, Tail::GuardWithIf);
        else
            runs[l].compute_at(runs[l + 1], run_domain[l + 1].x);
        runs[l].bound(u, 0, width);
        in_registers(runs[l], u, v);
        in_registers(runs[l].update().reorder(u, run_domain[l].x), u, v);
        if (l == 0) in_registers(runs[l].update(1), u, v);
        if (shares_rows && l == 1)
            runs[l].update().parallel(t, parallel_runs, Tail::GuardWithIf).specialize(dense);
    }
    last.specialize(dense);
}

// Short rows, in blocks of 16. Each row is reduced to 16 partial results; the following folds take
// 4 rows in one vector. Rows of whole blocks have loops of their own, without the code for the
// row's end. Prefetching doesn't pay. Measurements: docs/kernel_measurements.md, "reductions".
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
    // A row's 16 partial results stay in registers until they are complete.
    Func lanes = narrow_partial.in();
    lanes.compute_at(last, block)
        .bound_extent(i, block_rows)
        .bound_extent(u, narrow_width)
        .vectorize(u, std::min(v, narrow_width));
    narrow_partial.compute_at(lanes, i);
    in_registers(narrow_partial, u, std::min(v, narrow_width));
    in_registers(narrow_partial.update().reorder(u, run_domain[1]), u, std::min(v, narrow_width));
    in_registers(narrow_partial.update(1), u, std::min(v, narrow_width));
    partial.compute_at(narrow_partial, i).bound(u, 0, width);
    in_registers(partial, u, v);
    in_registers(partial.update().reorder(u, run_domain[0]), u, v);
    for (int w = narrow_width / 2, f = 0; w > 0; w /= 2, f++) {
        folds[f]
            .compute_at(last, block)
            .bound_extent(i, block_rows)
            .bound_extent(u, w)
            .split(i, i, four, rows_per_vector, Tail::RoundUp);
        folds[f].reorder(u, four, i).vectorize(u).vectorize(four).unroll(i);
    }
    const Expr dense = memory[0].dim(0).stride() == 1;
    last.specialize(dense && memory[0].dim(0).extent() % width == 0);
    last.specialize(dense);
}

// Columns: the vectors run along i. A task computes a wide piece of 16 rows at a time, in tiles
// that fit the registers.
void Reduction::schedule_columns(const Cpu &cpu, bool shares_r) {
    const int v = std::min(cpu.lanes, width);
    const int wide = cpu.pick("wide", {1024, 512, 4096});
    Func last = store();
    Var vec("vec"), lane("lane"), piece("piece"), tile("tile"), ii("ii"), task("task");
    // The runs of a task, of 256 rows each.
    const Expr parallel_runs = max(1, task_elements / (run * run) / max(1, size("i")));
    auto tiled = [&](Func f) { in_registers(f.split(i, tile, ii, width, Tail::RoundUp), ii, v); };
    auto tiled_update = [&](Func f, const RVar &along) {
        in_registers(f.update().split(i, tile, ii, width, Tail::RoundUp).reorder(ii, tile, along),
                     ii, v);
    };
    last.split(var(0), vec, lane, v, Tail::GuardWithIf)
        .vectorize(lane)
        .split(vec, piece, vec, wide / v, Tail::GuardWithIf);
    last.fuse(piece, var(1), task).parallel(task);
    partial.compute_at(last, task);
    tiled(partial);
    tiled_update(partial, top_domain.x);
    for (int l = 2; l > 0; l--) {
        if (l == 2)
            runs[l].compute_at(partial, top_domain.x);
        else if (shares_r)
            runs[l]
                .compute_root()
                .fuse(t, o, task)
                .parallel(task, parallel_runs, Tail::GuardWithIf);
        else
            runs[l].compute_at(runs[l + 1], run_domain[l + 1].x);
        tiled(runs[l]);
        tiled_update(runs[l], run_domain[l].x);
        if (shares_r && l == 1)
            runs[l].update().fuse(t, o, task).parallel(task, parallel_runs, Tail::GuardWithIf);
    }
    runs[0].compute_at(runs[1], tile).bound_extent(i, width);
    in_registers(runs[0], i, v);
    in_registers(runs[0].update().reorder(i, run_domain[0].x, run_domain[0].y), i, v);
    runs[1].specialize(memory[0].dim(1).stride() == 1);
    runs[1].update().specialize(memory[0].dim(1).stride() == 1);
}

// Tall: a task computes 256 rows in tiles of 8 vectors, of which the last overlaps the one before
// it. In "thin" a condition on lanes keeps the sums in memory, which takes nearly twice as long.
void Reduction::schedule_tall(const Cpu &cpu) {
    const int v = std::min(cpu.lanes, width);
    const int across = 8 * v;
    Func last = store();
    Func task_sums = runs[1].in();
    Var vec("vec"), lane("lane"), tile("tile"), ii("ii"), task("task");
    const Expr dense = memory[0].dim(1).stride() == 1;
    last.compute_root()
        .split(var(0), vec, lane, v, Tail::ShiftInwards)
        .vectorize(lane)
        .parallel(var(1));
    partial.compute_at(last, vec).vectorize(i).update().vectorize(i);
    runs[2].compute_at(partial, top_domain.x).vectorize(i).update().vectorize(i);
    task_sums.compute_root()
        .split(i, tile, ii, across, Tail::ShiftInwards)
        .vectorize(ii, v)
        .unroll(ii)
        .reorder(ii, tile, t, o)
        .fuse(t, o, task)
        .parallel(task);
    runs[1]
        .compute_at(task_sums, tile)
        .vectorize(i, v)
        .unroll(i)
        .update()
        .reorder(i, run_domain[1].x)
        .vectorize(i, v)
        .unroll(i);
    runs[0]
        .compute_at(runs[1], run_domain[1].x)
        .vectorize(i, v)
        .unroll(i)
        .update()
        .reorder(i, run_domain[0].x, run_domain[0].y)
        .vectorize(i, v)
        .unroll(i);
    task_sums.specialize(dense);
}

}  // namespace halyard
