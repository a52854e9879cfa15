#include "kernels/contraction/product.h"

#include <cmath>
#include <functional>
#include <map>

#include "dsl/gpu/grid.h"
#include "kernels/contraction/parallel_products.h"

namespace halyard {
namespace {

void run_in_parallel(Halide::Stage stage, const std::vector<Halide::Var> &loops) {
    for (const Halide::Var &v : loops)
        stage.parallel(v);
}

}  // namespace

Halide::Func sum_in_blocks(const Cpu &cpu, Halide::Func sum, const Halide::RDom &k,
                           const Halide::RVar &ko, const Halide::RVar &ki, const Halide::Var &u) {
    const int block = cpu.has_avx512() ? cpu.pick("block_k", {128, 256, 64})
                                       : cpu.pick("block_k", {256, 128, 512});
    return sum.update().split(k, ko, ki, block, Halide::TailStrategy::GuardWithIf).rfactor(ko, u);
}

Product::Product(const std::string &n, const std::string &text) : Op(n, text) {
    flag("transpose_a", false);
    flag("transpose_b", false);
    any_strides = true;
    contract = {Contract::products, 16};
}

// Adds the sums of products one at a time.
void Product::define_sum() {
    k = RDom(0, size("k"), "k");
    sum(j, i, g) += a(k, i, g) * b(j, k, g);
}

// Adds two products at a time, as vdpbf16ps does: a pair is b's elements of two successive k, side
// by side and as stored.
void Product::define_sum_of_pairs(const Build &build) {
    k = RDom(0, 2, 0, size("k") / 2);
    const bool exact = build.is_exact();
    const Expr stored = b(j, 2 * u + q, g);
    pairs(q, j, u, g) = exact ? stored : cast(memory[1].type(), stored);
    const Expr factor = pairs(k.x, j, k.y, g);
    sum(j, i, g) += a(2 * k.y + k.x, i, g) * (exact ? factor : cast(Halide::Float(64), factor));
}

// The same in tiles of rows and columns.
void Product::define_sum_in_tiles(const Build &build) {
    const bool exact = build.is_exact();
    const auto stored = [&](const Expr &j, const Expr &k, const Expr &g) {
        const Expr real = b(j, k, g);
        return exact ? real : cast(memory[1].type(), real);
    };
    const auto widened = [&](const Expr &e) { return exact ? e : cast(Halide::Float(64), e); };
    const auto factor = [&](const Expr &k, const Expr &i, const Expr &g) { return a(k, i, g); };
    matrix_tiles.define(sum, 2, size("k") / 2, size("n"), {factor, stored, widened});
}

void Product::algorithm() {
    define_sum();
    define_output();
}

// Tiles fill the vector registers, of which AVX-512 has 32 and other instruction sets 16.
Variant Product::vnni(const DimExpr &when) {
    const auto algorithm = [this](const Build &build) {
        define_sum_of_pairs(build);
        define_output();
    };
    const auto schedule = [this](const Cpu &cpu) {
        promise_layout();
        promise_further_inputs();
        cpu.pick(has_pairs, {cpu.stores(DType::bf16)});
        const int vectors = cpu.pick(tile_vectors, {2});
        schedule_pairs(cpu, Tile(cpu.lanes, vectors, cpu.pick(tile_rows, {8})));
    };
    return {"vnni", when, {.algorithm = algorithm, .schedule = schedule}, Extension::vnni};
}

Variant Product::amx(const DimExpr &when) {
    return in_matrix_tiles("amx", when, MatrixTiles::Order::strips_outside);
}
Variant Product::amx_panels(const DimExpr &when) {
    return in_matrix_tiles("amx_panels", when && MatrixTiles::stays_in_l2(d.m, d.k),
                           MatrixTiles::Order::panels_outside);
}
Variant Product::in_matrix_tiles(const std::string &variant, const DimExpr &when,
                                 MatrixTiles::Order order) {
    const auto algorithm = [this](const Build &build) {
        define_sum_in_tiles(build);
        define_output();
    };
    const auto schedule = [this, order](const Cpu &cpu) {
        promise_layout();
        promise_further_inputs();
        cpu.pick(has_pairs, {cpu.stores(DType::bf16)});
        schedule_matrix_tiles(cpu, order);
    };
    return {variant, when, {.algorithm = algorithm, .schedule = schedule}, Extension::amx};
}

Variant Product::narrow_t(const DimExpr &when) {
    return tiled("narrow_t", when, [this](const Cpu &cpu) {
        const int v = cpu.lanes;
        cpu.pick(max_narrow_t_n, {cpu.has_avx512() ? 2 * v : 3 * v});
        schedule_packed(cpu, Tile(v, 1, 8), true);
    });
}
Variant Product::packed_t(const DimExpr &when) {
    return tiled("packed_t", when, [this](const Cpu &cpu) {
        const bool wide = cpu.has_32_registers();
        const int vectors = wide ? cpu.pick(tile_vectors, {2, 1, 3}) : cpu.pick(tile_vectors, {3});
        schedule_packed(cpu, Tile(cpu.lanes, vectors, cpu.pick(tile_rows, {wide ? 8 : 4})), true);
    });
}
Variant Product::half_t(const DimExpr &when) {
    return tiled("half_t", when, [this](const Cpu &cpu) {
        schedule_packed(cpu, Tile(std::max(1, cpu.lanes / 2), 1, 8), true);
    });
}
Variant Product::dot_row(const DimExpr &when) {
    return tiled("dot_row", when, [this](const Cpu &cpu) { schedule_dot(cpu, 1, 4); });
}
Variant Product::dot_column(const DimExpr &when) {
    return tiled("dot_column", when, [this](const Cpu &cpu) { schedule_dot(cpu, 4, 1); });
}
Variant Product::dot_column_packed(const DimExpr &when) {
    return tiled("dot_column_packed", when,
                 [this](const Cpu &cpu) { schedule_dot(cpu, 4, 1, true); });
}
Variant Product::packed(const DimExpr &when) {
    return tiled("packed", when, [this](const Cpu &cpu) {
        const int v = cpu.lanes;
        const bool wide = cpu.has_avx512();
        cpu.pick(min_packed_m, {wide ? 96 : 4});
        cpu.pick(min_packed_n, {wide ? 16 * v + 1 : 1});
        // For f16 on AVX-512 "direct" is faster, because LLVM converts vectors there. Here each
        // scalar of a waits for the one before: vpinsrw keeps the rest of its register.
        cpu.pick(may_pack, {wide && cpu.stores(DType::f16) ? 0 : 1});
        schedule_packed(cpu, Tile(v, cpu.pick(tile_vectors, {cpu.has_32_registers() ? 4 : 3}), 4),
                        false);
    });
}
Variant Product::narrow(const DimExpr &when) {
    return tiled("narrow", when, [this](const Cpu &cpu) {
        const int v = cpu.lanes;
        cpu.pick(max_narrow_n, {cpu.has_avx512() ? 16 * v : 3 * v - 1});
        schedule_direct(cpu, Tile(v, 1, 8));
    });
}
Variant Product::direct(const DimExpr &when) {
    return tiled("direct", when, [this](const Cpu &cpu) {
        const int vectors = cpu.pick(tile_vectors, {cpu.has_32_registers() ? 4 : 3});
        schedule_direct(cpu, Tile(cpu.lanes, vectors, 4));
    });
}
Variant Product::half(const DimExpr &when) {
    return tiled("half", when, [this](const Cpu &cpu) {
        schedule_direct(cpu, Tile(std::max(1, cpu.lanes / 2), 1, 8));
    });
}
Variant Product::row(const DimExpr &when) {
    return tiled("row", when, [this](const Cpu &cpu) {
        schedule_direct(cpu, Tile(cpu.lanes, cpu.pick(tile_vectors, {4, 8, 2}), 1));
    });
}
Variant Product::wide_row(const DimExpr &when) {
    return tiled("wide_row", when, [this](const Cpu &cpu) { schedule_streams(cpu); });
}
Variant Product::any() {
    return {"any", DimExpr::always()};
}

// Returns a variant with sums of products one at a time. In a chain the operands are computed and
// have no strides to choose by, so every variant is `any` there.
Variant Product::tiled(const std::string &variant, const DimExpr &when, const Schedule &tiles) {
    return {variant, when, {.schedule = [this, tiles](const Cpu &cpu) {
                if (fused()) return schedule(cpu);
                promise_layout();
                promise_further_inputs();
                tiles(cpu);
            }}};
}

// All tensors begin at 0, and the output is contiguous.
void Product::promise_layout() {
    for (auto &tensor : memory) {
        for (int dim = 0; dim < tensor.dimensions(); dim++)
            tensor.dim(dim).set_min(0);
    }
    for (int dim = 0; dim < 3; dim++)
        store().output_buffer().dim(dim).set_min(0);
    store().output_buffer().dim(0).set_stride(1);
}
// dense's bias is contiguous.
void Product::promise_further_inputs() {
    for (size_t further = 2; further < memory.size(); further++)
        memory[further].dim(0).set_stride(1);
}

void Product::add_variants_for_gpus() {
    const DimExpr fits = d.m >= gpu_block_rows && d.n >= gpu_block_columns && d.n % 4 == 0;
    const DimExpr sums = Dim("g") * d.m * d.n;
    // Fewer tiles leave multiprocessors idle, by the model of time (docs/gpu.md).
    add_for_gpu({"thread_tiles",
                 fits && sums >= 1 << 19,
                 {.algorithm =
                      [this](const Build &) {
                          define_sum_of_copies();
                          define_output();
                      },
                  .schedule_on_gpu = [this](const Gpu &) { schedule_thread_tiles(); }}});
    add_for_gpu({"thread_tiles_of_parts",
                 fits && (sums >= 1 << 18 || (d.k >= 256 && sums >= 1 << 13)),
                 {.algorithm =
                      [this](const Build &) {
                          define_sum_of_parts();
                          define_output();
                      },
                  .schedule_on_gpu = [this](const Gpu &) { schedule_thread_tiles_of_parts(); }}});
    add_for_gpu({"thread_sums", DimExpr::always()});
}

// As define_sum(), for copies of the operands, of which rows of a have aligned groups of terms, and
// rows of b are rows of memory.
void Product::define_sum_of_copies() {
    a_rows(u, i, g) = a(u, i, g);
    b_rows(j, i, g) = b(j, i, g);
    a_terms(u, i, g) = a_rows(u, i, g);
    terms = RDom(0, gpu_terms, 0, size("k") / gpu_terms);
    last_terms = RDom(0, size("k") % gpu_terms);
    const Expr term = terms.y * gpu_terms + terms.x;
    const Expr last_term = size("k") / gpu_terms * gpu_terms + last_terms;
    thread_sum(j, i, g) += a_terms(term, i, g) * b_rows(j, term, g);
    thread_sum(j, i, g) += a_rows(last_term, i, g) * b_rows(j, last_term, g);
    sum(j, i, g) = thread_sum(j, i, g);
}

// The same, but sums are parts that are added in their order, so that there are enough tiles.
void Product::define_sum_of_parts() {
    const Expr groups = size("k") / gpu_terms;
    const Expr groups_of_part = gpu::size_of_part(groups, gpu_terms, size("m") * size("g"),
                                                  size("n"));
    const Expr last_part = max((groups + groups_of_part - 1) / groups_of_part - 1, 0);
    const auto term = [&](const Expr &place, const Expr &group) {
        return (part * groups_of_part + group) * gpu_terms + place;
    };
    a_rows(u, q, part, i, g) = a(min(term(u, q), size("k") - 1), i, g);
    b_rows(j, i, g) = b(j, min(i, size("k") - 1), g);  // the last part may have fewer terms
    a_terms(u, q, part, i, g) = a_rows(u, q, part, i, g);
    terms = RDom(0, gpu_terms, 0, groups_of_part);
    terms.where(part * groups_of_part + terms.y < groups);
    thread_sum(j, i, g, part) += a_terms(terms.x, terms.y, part, i, g) *
                                 b_rows(j, term(terms.x, terms.y), g);
    last_terms = RDom(0, size("k") % gpu_terms);
    last_terms.where(part == last_part);
    const Expr last_term = groups * gpu_terms + last_terms;
    thread_sum(j, i, g, part) += a(last_term, i, g) * b_rows(j, last_term, g);
    parts(j, i, g, part) = thread_sum(j, i, g, part);
    sum(j, i, g) += parts(j, i, g, RDom(0, last_part + 1).x);
}

// An epilogue is a kernel of its own, because a tile would have its code once for each sum.
void Product::schedule_thread_tiles() {
    if (epilogue.defined()) {
        one_element_a_thread();
        tile_by_threads(sum.compute_root(), {j, i, g});
    } else {
        tile_by_threads(store(), {var(0), var(1), var(2)});
    }
    load_terms();
    copy_by_threads(a_rows, u);
}

void Product::schedule_thread_tiles_of_parts() {
    sum.compute_at(store(), one_element_a_thread());
    Var batch("batch"), group("group");
    tile_by_threads(parts.compute_root().fuse(g, part, batch), {j, i, batch});
    load_terms().bound_extent(q, 1).bound_extent(part, 1);
    Var block("block"), thread("thread");
    a_rows.compute_root()
        .bound(u, 0, gpu_terms)
        .fuse(u, q, group)
        .fuse(group, part, group)
        .split(group, block, thread, 128, Tail::GuardWithIf)
        .reorder(thread, block, i, g)
        .gpu_blocks(block, i, g)
        .gpu_threads(thread);
}

// A thread loads a group of terms of each of its rows into registers.
Halide::Func Product::load_terms() {
    return a_terms.compute_at(thread_sum, terms.y)
        .bound_extent(u, gpu_terms)
        .store_in(Halide::MemoryType::Register)
        .vectorize(u)
        .unroll(i);
}

// A thread has a tile of 8 rows and 4 columns of `tiles` in registers. It loads 4 elements of a
// copy at once. The last tiles overlap those before them.
void Product::tile_by_threads(Func tiles, const std::array<Var, 3> &dims) {
    Var block_columns("block_columns"), block_rows("block_rows"), column("column"), row("row"),
        warp("warp"), thread("thread");
    const auto &[across, down, batch] = dims;
    tiles.bound(across, 0, size("n") / gpu_tile_columns * gpu_tile_columns)
        .split(across, block_columns, column, gpu_block_columns, Tail::ShiftInwards)
        .split(column, thread, column, gpu_tile_columns)
        .split(down, block_rows, row, gpu_block_rows, Tail::ShiftInwards)
        .split(row, warp, row, gpu_tile_rows)
        .reorder(column, row, thread, warp, block_columns, block_rows, batch)
        .gpu_blocks(block_columns, block_rows, batch)
        .gpu_threads(thread, warp)
        .vectorize(column)
        .unroll(row);
    thread_sum.compute_at(tiles, thread).vectorize(j).unroll(i);
    thread_sum.update(0).reorder(j, i, terms.x, terms.y).vectorize(j).unroll(i).unroll(terms.x);
    thread_sum.update(1).reorder(j, i, last_terms).vectorize(j).unroll(i);
    copy_by_threads(b_rows, j);
}

// Each thread of a copy reads neighbours along the other dimension, one after another, and a warp
// stores rows.
void Product::copy_by_threads(Func copy, const Var &columns) {
    Var block_columns("block_columns"), block_rows("block_rows"), row("row"), thread("thread");
    constexpr int columns_of_block = 128, rows_of_thread = 8;
    copy.compute_root()
        .align_storage(columns, gpu_terms)
        .split(columns, block_columns, thread, columns_of_block, Tail::GuardWithIf)
        .split(i, block_rows, row, rows_of_thread, Tail::GuardWithIf)
        .reorder(row, thread, block_columns, block_rows, g)
        .gpu_blocks(block_columns, block_rows, g)
        .gpu_threads(thread);
}

Halide::Var Product::one_element_a_thread() {
    Var ji("ji"), ii("ii");
    store().gpu_tile(var(0), var(1), ji, ii, 16, 8, Tail::GuardWithIf).gpu_blocks(var(2));
    return ji;
}

void Product::schedule(const Gpu &) {
    sum.compute_at(store(), one_element_a_thread());
}

// b is copied: for each column of tiles, the panel of b that its tiles read becomes contiguous.
// The copy pays if enough rows of tiles read it. With `transposed` b is contiguous along k.
void Product::schedule_packed(const Cpu &cpu, const Tile &t, bool transposed) {
    if (transposed) memory[1].dim(1).set_stride(1);
    const Var batch = var(2);
    Var jo, io, strip;
    Func block_sum = sum_in_blocks(cpu);
    tile_output(cpu, t, jo, io, strip);
    pack_panel(block_sum, jo, t, transposed);
    keep_in_registers(block_sum, io, t);
    block_sum.update().reorder(j, i, ki).vectorize(j, t.lanes).unroll(j).unroll(i);
    schedule_epilogue(io, t);
    run_in_parallel(store().specialize(may_run_in_parallel(cpu, t.rows, t.columns())),
                    {batch, jo, strip});
}

// As schedule_packed(), but the panel holds pairs, and a vector instruction sums both products of a
// pair in each lane.
void Product::schedule_pairs(const Cpu &cpu, const Tile &t) {
    memory[0].dim(0).set_stride(1);
    const Var batch = var(2);
    Var jo, io, strip;
    Func block_sum = sum.update()
                         .split(k.y, ko, ki, cpu.pick("block_k", {64, 128, 32}), Tail::GuardWithIf)
                         .rfactor(ko, u);
    tile_output(cpu, t, jo, io, strip);
    keep_in_registers(block_sum, io, t);
    block_sum.update()
        .reorder(k.x, j, i, ki)
        .atomic()
        .vectorize(k.x)
        .vectorize(j, t.lanes)
        .unroll(j)
        .unroll(i);
    pairs.compute_at(store(), jo)
        .bound_extent(j, t.columns())
        .bound(q, 0, 2)
        .reorder_storage(q, j, u, g)
        .reorder(q, j, u);
    pairs.specialize(memory[1].dim(0).stride() == 1).vectorize(j, 2 * t.lanes).unroll(q);
    pairs.vectorize(q);
    schedule_epilogue(io, t);
    run_in_parallel(store().specialize(may_run_in_parallel(cpu, t.rows, t.columns())),
                    {batch, jo, strip});
}

void Product::schedule_matrix_tiles(const Cpu &cpu, MatrixTiles::Order order) {
    memory[0].dim(0).set_stride(1);
    matrix_tiles.schedule(
        cpu, store(), {var(0), var(1), var(2)}, order,
        {.b_is_in_rows = memory[1].dim(0).stride() == 1, .in_parallel = is_worth_threads()});
    if (!epilogue.defined()) return;
    specialize_cases(
        epilogue.compute_at(store(), matrix_tiles.row).vectorize(j, cpu.lanes, Tail::GuardWithIf));
}

// b is read in place, which requires that it is contiguous along n.
void Product::schedule_direct(const Cpu &cpu, const Tile &t) {
    memory[1].dim(0).set_stride(1);
    const Var batch = var(2);
    Var jo, io, strip;
    Func block_sum = sum_in_blocks(cpu);
    tile_output(cpu, t, jo, io, strip);
    keep_in_registers(block_sum, io, t);
    block_sum.update().reorder(j, i, ki).vectorize(j, t.lanes).unroll(j).unroll(i);
    schedule_epilogue(io, t);
    run_in_parallel(store().specialize(may_run_in_parallel(cpu, t.rows, t.columns())),
                    {batch, jo, strip});
}

// Few rows of a: b is read once, and the time is that of reading it. A strip of columns is summed
// over a few rows of b at a time, along each of which the processor prefetches; the strip's sums
// are in L1.
void Product::schedule_streams(const Cpu &cpu) {
    memory[1].dim(0).set_stride(1);
    const int v = cpu.lanes;
    const int columns = cpu.pick("columns", {512, 1024, 256});
    const int streams = cpu.pick("streams", {4, 8, 2});
    Func block_sum = sum_in_blocks(cpu);
    Func out = store();
    const Var batch = var(2);
    Var jo, ji, jv, jl, tile;
    Halide::RVar few;
    out.split(var(0), jo, ji, columns, Tail::GuardWithIf)
        .reorder(ji, var(1), jo, batch)
        .vectorize(ji, v, Tail::Predicate);
    sum.compute_at(out, jo).vectorize(j, v, Tail::RoundUp);
    sum.update().reorder(j, i, ko).vectorize(j, v, Tail::Predicate);
    block_sum.compute_at(sum, ko).reorder_storage(j, i, g, u).vectorize(j, v, Tail::RoundUp);
    block_sum.update()
        .split(ki, ki, few, streams, Tail::GuardWithIf)
        .split(j, jv, jl, 4 * v, Tail::Predicate)
        .split(jl, tile, jl, v)
        .reorder(jl, tile, few, jv, i, ki)
        .vectorize(jl)
        .unroll(tile)
        .unroll(few);
    if (epilogue.defined())
        specialize_cases(epilogue.compute_at(out, jo).vectorize(j, v, Tail::Predicate));
    run_in_parallel(out.specialize(is_worth_threads()), {batch, jo});
}

// Both operands are contiguous along k: the vectors run along k and hold partial sums, which are
// added horizontally at the end. A tile is a few rows or a few columns. With `pack_b`, b is
// contiguous along n and becomes so along k by a copy.
void Product::schedule_dot(const Cpu &cpu, int rows, int columns, bool pack_b) {
    memory[0].dim(0).set_stride(1);
    memory[1].dim(pack_b ? 0 : 1).set_stride(1);
    Func out = store();
    const Var batch = var(2);
    Var jo, ji, io, ii, task;
    // The baseline has as many partial sums as AVX2, in twice as many vectors. Half as many would
    // lose accuracy in long sums and gain no time.
    const int partial_sums = cpu.lanes * (cpu.target.has_feature(Halide::Target::AVX2)
                                              ? cpu.pick("dot_vectors", {1, 2})
                                              : cpu.pick("dot_vectors", {2, 1}));
    Func partial = sum.update().split(k, ko, ki, partial_sums, Tail::GuardWithIf).rfactor(ki, u);
    out.split(var(0), jo, ji, columns, Tail::ShiftInwards)
        .split(var(1), io, ii, rows, Tail::ShiftInwards);
    Var inner = rows > columns ? jo : io;
    Var outer = rows > columns ? io : jo;
    out.split(outer, task, outer, cpu.pick("dot_strip", {16, 8, 32}), Tail::GuardWithIf);
    out.reorder(ji, ii, inner, outer, task, batch).unroll(ji).unroll(ii);
    for (Func f : {sum, partial})
        f.compute_at(out, inner).bound_extent(j, columns).bound_extent(i, rows).unroll(j).unroll(i);
    partial.bound_extent(u, partial_sums)
        .reorder_storage(u, j, i, g)
        .vectorize(u, cpu.lanes)
        .unroll(u);
    partial.update().reorder(u, j, i, ko).vectorize(u, cpu.lanes).unroll(u).unroll(j).unroll(i);
    sum.update().reorder(ki, j, i).atomic().vectorize(ki).unroll(j).unroll(i);
    if (pack_b) {
        Func panel = b.in(partial);
        const std::vector<Var> at = panel.args();
        panel.compute_root().reorder_storage(at[1], at[0], at[2]).reorder(at[1], at[0], at[2]);
        panel.vectorize(at[1], cpu.lanes, Tail::GuardWithIf);
    }
    const int lanes_of_row = std::min(columns, cpu.lanes);
    schedule_epilogue(inner, Tile(lanes_of_row, columns / lanes_of_row, rows));
    run_in_parallel(out.specialize(may_run_in_parallel(cpu, rows, columns)), {batch, task});
}

// Takes every shape and stride. Tiles at the edges have masked vectors, and a b that isn't
// contiguous along n is gathered.
void Product::schedule(const Cpu &cpu) {
    if (!fused()) promise_layout();
    Func out = store();
    Func block_sum = sum_in_blocks(cpu);
    const Var batch = var(2);
    Var jo, ji, io, ii;
    const int v = cpu.lanes;
    const int rows = cpu.pick("rows", {8, 4, 2});
    out.tile(var(0), var(1), jo, io, ji, ii, v, rows, Tail::GuardWithIf)
        .vectorize(ji, v, Tail::Predicate);
    sum.compute_at(out, jo).vectorize(j, v, Tail::RoundUp);
    sum.update()
        .reorder(j, i, ko)
        .vectorize(j, v, Tail::Predicate)
        .unroll(i, rows, Tail::GuardWithIf);
    block_sum.compute_at(sum, ko).reorder_storage(j, i, g, u).vectorize(j, v, Tail::RoundUp);
    block_sum.update()
        .reorder(j, i, ki)
        .vectorize(j, v, Tail::Predicate)
        .unroll(i, rows, Tail::GuardWithIf);
    if (epilogue.defined())
        specialize_cases(epilogue.compute_at(out, jo).vectorize(j, v, Tail::Predicate));
    const Expr dense = fused() ? Expr(true) : memory[1].dim(0).stride() == 1;
    // A single row, as of batch size 1, has a loop without the guards of a tile's rows, which would
    // take more than half of the time.
    out.specialize(dense && !is_worth_threads() && out.output_buffer().dim(1).extent() == 1);
    run_in_parallel(out.specialize(dense && is_worth_threads()), {batch, io});
    out.specialize(dense);
}

Halide::Func Product::sum_in_blocks(const Cpu &cpu) {
    return halyard::sum_in_blocks(cpu, sum, k, ko, ki, u);
}

// Divides c into tiles: jo and io are the tile's column and row. The tiles below one panel of b
// form strips, which are the tasks of threads.
void Product::tile_output(const Cpu &cpu, const Tile &t, Var &jo, Var &io, Var &strip) {
    Var ji, ii;
    const int strip_tiles = cpu.pick("strip", {22, 43, 11});
    Func out = store();
    const Var batch = var(2);
    out.split(var(0), jo, ji, t.columns(), Tail::ShiftInwards)
        .split(var(1), io, ii, t.rows, Tail::ShiftInwards);
    out.split(io, strip, io, strip_tiles, Tail::GuardWithIf)
        .reorder(ji, ii, io, strip, jo, batch)
        .vectorize(ji, t.lanes)
        .unroll(ji)
        .unroll(ii);
}

// Computes the sums of a tile at the loop `at`. Every loop over the tile is unrolled, so that its
// sums are registers. The caller orders the loops of block_sum's update.
void Product::keep_in_registers(Func block_sum, const Var &at, const Tile &t) {
    for (Func f : {sum, block_sum}) {
        f.bound_extent(j, t.columns())
            .bound_extent(i, t.rows)
            .vectorize(j, t.lanes)
            .unroll(j)
            .unroll(i);
    }
    sum.compute_at(store(), at);
    block_sum.compute_at(sum, ko).reorder_storage(j, i, g, u);
    sum.update().reorder(j, i, ko).vectorize(j, t.lanes).unroll(j).unroll(i);
}

// Copies the panel of b (all of k, the columns of a tile), which becomes contiguous. The last tile
// overlaps its neighbour, so the panel needs no padding.
void Product::pack_panel(Func block_sum, const Var &jo, const Tile &t, bool transposed) {
    Func panel = b.in(block_sum);
    Var x = panel.args()[0];
    Var y = panel.args()[1];
    Var xi, yi;
    panel.compute_at(store(), jo).bound_extent(x, t.columns());
    if (transposed) {
        // Blocks of 4 x 4 are loaded along k, where b is contiguous, and transposed in registers.
        // Larger blocks are slower (docs/kernel_measurements.md, "matmul").
        const int edge = std::min(4, t.columns());
        Func block = b.in(panel);
        Var tx = block.args()[0];
        Var ty = block.args()[1];
        panel.split(x, x, xi, edge)
            .split(y, y, yi, edge, Tail::ShiftInwards)
            .reorder(xi, yi, x, y)
            .vectorize(xi)
            .unroll(yi);
        block.compute_at(panel, x).bound_extent(tx, edge).bound_extent(ty, edge).reorder_storage(
            ty, tx, block.args()[2]);
        block.reorder(ty, tx).vectorize(ty, edge).unroll(tx);
    } else {
        // If b is contiguous along n the copy loads vectors, else it gathers.
        panel.specialize(memory[1].dim(0).stride() == 1)
            .vectorize(x, t.lanes)
            .unroll(x)
            .unroll(y, 4, Tail::GuardWithIf);
        panel.vectorize(x, t.lanes).unroll(x);
    }
}

// The epilogue's loop over a tile isn't unrolled: activations are long.
void Product::schedule_epilogue(const Var &at, const Tile &t) {
    if (!epilogue.defined()) return;
    specialize_cases(epilogue.compute_at(store(), at)
                         .bound_extent(j, t.columns())
                         .bound_extent(i, t.rows)
                         .vectorize(j, t.lanes));
}

void Product::specialize_cases(Func f) const {
    for (const Expr &c : epilogue_cases)
        f.specialize(c);
    if (!epilogue_cases.empty()) f.specialize_fail("none of the cases");
}

Halide::Expr Product::is_worth_threads() const {
    return has_many_products(*this, {"g", "m", "k", "n"});
}

Halide::Expr Product::may_run_in_parallel(const Cpu &cpu, int rows, int columns) const {
    return is_worth_threads() && may_share_tiles(*this, cpu, "m", rows, "n", columns);
}

void Product::reference_sums(const Problem &p, Array &sums, Array &abs_sums) {
    const Array &x = p.tensors.at("a"), &y = p.tensors.at("b");
    const bool ta = p["transpose_a"];
    const bool tb = p["transpose_b"];
    const int64_t g = p["g"], m = p["m"], n = p["n"], k = p["k"];
    sums = abs_sums = Array({g, m, n});
    for (int64_t q = 0; q < g; q++) {
        for (int64_t r = 0; r < m; r++) {
            for (int64_t s = 0; s < n; s++) {
                for (int64_t t = 0; t < k; t++) {
                    const double product = (ta ? x(q, t, r) : x(q, r, t)) *
                                           (tb ? y(q, s, t) : y(q, t, s));
                    sums(q, r, s) += product;
                    if (std::isfinite(product)) abs_sums(q, r, s) += std::fabs(product);
                }
            }
        }
    }
}

}  // namespace halyard
