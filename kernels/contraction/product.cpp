#include "kernels/contraction/product.h"

#include <cmath>

namespace halyard {
namespace {

void share(Halide::Stage s, const std::vector<Halide::Var> &loops) {
    for (const Halide::Var &v : loops)
        s.parallel(v);
}

}  // namespace

Product::Product(const std::string &n, const std::string &text) : Op(n, text) {
    flag("transpose_a", false);
    flag("transpose_b", false);
    any_strides = true;
    contract = {Contract::products, 16};
}

// vnni: sums of two products at a time, which is what vdpbf16ps does with a's and b's two values of
// k beside each other, as stored.
void Product::multiply() {
    if (variant == "vnni") {
        k = RDom(0, 2, 0, size("k") / 2);
        const bool exact = types.empty();
        const Expr stored = b(j, 2 * u + q, g);
        pairs(q, j, u, g) = exact ? stored : cast(memory[1].type(), stored);
        const Expr factor = pairs(k.x, j, k.y, g);
        sum(j, i, g) += a(2 * k.y + k.x, i, g) * (exact ? factor : cast(Halide::Float(64), factor));
    } else {
        k = RDom(0, size("k"), "k");
        sum(j, i, g) += a(k, i, g) * b(j, k, g);
    }
}

void Product::schedule(const Cpu &cpu) {
    if (fused()) return any(cpu);  // operands that are computed have no strides to choose by
    const int v = cpu.lanes;
    const bool wide = cpu.has_avx512();  // 32 vector registers, else 16
    for (auto &m : memory) {
        for (int d = 0; d < m.dimensions(); d++)
            m.dim(d).set_min(0);
    }
    for (int d = 0; d < 3; d++)
        store().output_buffer().dim(d).set_min(0);
    store().output_buffer().dim(0).set_stride(1);
    const std::string &w = cpu.variant;
    for (size_t k = 2; w != "any" && k < memory.size(); k++)
        memory[k].dim(0).set_stride(1);
    if (w == "vnni")
        paired(cpu, {v, cpu.pick("cols", {2}), cpu.pick("rows", {8})});
    else if (w == "packed")
        packed(cpu, {v, cpu.pick("cols", {wide ? 4 : 3}), 4}, false);
    else if (w == "packed_t") {
        packed(cpu,
               {v, cpu.pick("cols", wide ? std::vector<int>{2, 1, 3} : std::vector<int>{3}),
                cpu.pick("rows", {wide ? 8 : 4})},
               true);
    } else if (w == "narrow_t")
        packed(cpu, {v, 1, 8}, true);
    else if (w == "half_t")
        packed(cpu, {std::max(1, v / 2), 1, 8}, true);
    else if (w == "direct")
        direct(cpu, {v, cpu.pick("cols", {wide ? 4 : 3}), 4});
    else if (w == "narrow")
        direct(cpu, {v, 1, 8});
    else if (w == "half")
        direct(cpu, {std::max(1, v / 2), 1, 8});
    else if (w == "row")
        direct(cpu, {v, cpu.pick("cols", {4, 8, 2}), 1});
    else if (w == "dot_row")
        dot(cpu, 1, 4);
    else if (w == "dot_column")
        dot(cpu, 4, 1);
    else
        any(cpu);
    if (w == "narrow_t") cpu.pick("upto", {wide ? 2 * v : 3 * v});
    if (w == "narrow") cpu.pick("most", {wide ? 16 * v : 3 * v - 1});
    if (w != "packed") return;
    cpu.pick("least_m", {wide ? 96 : 4});
    cpu.pick("least_n", {wide ? 16 * v + 1 : 1});
    // Converted from f16, each scalar of a waits for the one before it: vpinsrw keeps the rest of
    // its register. direct, where LLVM converts vectors, takes 0.33 of the time (512 x 512 x 512,
    // Zen 5, AVX-512).
    const bool f16 = types.count("T") && types.at("T") == DType::f16;
    cpu.pick("packs", {wide && f16 ? 0 : 1});
}

void Product::schedule(const Gpu &) {
    Var ji("ji"), ii("ii");
    store().gpu_tile(var(0), var(1), ji, ii, 16, 8, Tail::GuardWithIf).gpu_blocks(var(2));
    sum.compute_at(store(), ji);
}

// The sum of one register tile: block_k products run in registers, then the blocks are added up,
// which keeps the error flat in k (34 eps instead of 2.7 at k = 4096 without blocks). 128 costs
// nothing on AVX-512 and 2-4 % elsewhere.
Halide::Func Product::blocks_of_k(const Cpu &cpu) {
    const int block = cpu.has_avx512() ? cpu.pick("block_k", {128, 256, 64})
                                       : cpu.pick("block_k", {256, 128, 512});
    return sum.update().split(k, ko, ki, block, Tail::GuardWithIf).rfactor(ko, u);
}

void Product::in_registers(Func part, const Var &at, const Tile &t) {
    for (Func f : {sum, part}) {
        f.bound_extent(j, t.vec * t.cols)
            .bound_extent(i, t.rows)
            .vectorize(j, t.vec)
            .unroll(j)
            .unroll(i);
    }
    sum.compute_at(store(), at);
    part.compute_at(sum, ko).reorder_storage(j, i, g, u);
    sum.update().reorder(j, i, ko).vectorize(j, t.vec).unroll(j).unroll(i);
    part.update().reorder(j, i, ki).vectorize(j, t.vec).unroll(j).unroll(i);
    finish_tile(at, t);
}

// In loops of its own, not unrolled: functions are long, and each case has its loop.
void Product::by_cases(Func f) const {
    for (const Expr &c : cases)
        f.specialize(c);
    if (!cases.empty()) f.specialize_fail("none of the cases");
}

void Product::finish_tile(const Var &at, const Tile &t) {
    if (!finished.defined()) return;
    by_cases(finished.compute_at(store(), at)
                 .bound_extent(j, t.vec * t.cols)
                 .bound_extent(i, t.rows)
                 .vectorize(j, t.vec));
}

// One panel of b (all k x one tile's columns) made contiguous; its minimum moves with the tile, so
// ShiftInwards needs no padding.
void Product::pack_panel(Func part, const Var &jo, const Tile &t, bool transposed) {
    Func panel = b.in(part);
    Var x = panel.args()[0];
    Var y = panel.args()[1];
    Var xi, yi;
    panel.compute_at(store(), jo).bound_extent(x, t.vec * t.cols);
    if (transposed) {
        // b is contiguous along k: q x q blocks, read along k, turned in registers. Blocks of 8 x 8
        // and 16 x 16 took 1.14 and 1.19 times as long for 32 x 400 x 120, 1.05 and 1.07 for 96 x
        // (128 x 64 x 128), 8 x 8 with AVX2 1.08 (Zen 5, 1 thread).
        const int q = std::min(4, t.vec * t.cols);
        Func turn = b.in(panel);
        Var tx = turn.args()[0];
        Var ty = turn.args()[1];
        panel.split(x, x, xi, q)
            .split(y, y, yi, q, Tail::ShiftInwards)
            .reorder(xi, yi, x, y)
            .vectorize(xi)
            .unroll(yi);
        turn.compute_at(panel, x).bound_extent(tx, q).bound_extent(ty, q).reorder_storage(
            ty, tx, turn.args()[2]);
        turn.reorder(ty, tx).vectorize(ty, q).unroll(tx);
    } else {  // contiguous along n: vector copies; any other stride: gathers
        panel.specialize(memory[1].dim(0).stride() == 1)
            .vectorize(x, t.vec)
            .unroll(x)
            .unroll(y, 4, Tail::GuardWithIf);
        panel.vectorize(x, t.vec).unroll(x);
    }
}

// below this many products, one thread: waking the pool costs more
Halide::Expr Product::worth_sharing() const {
    Expr work = Halide::cast<int64_t>(size("g"));
    for (const char *extent : {"m", "k", "n"})
        work *= size(extent);
    return work >= Halide::cast<int64_t>(100000);
}

// A ragged edge's last tile overlaps the one before it, another task's: both write the same bits
// there. ThreadSanitizer can't know, so its kernels share out only products without ragged edges.
Halide::Expr Product::may_share(const Cpu &cpu, int rows, int cols) const {
    const bool disjoint = cpu.target.has_feature(Halide::Target::TSAN);
    return disjoint ? worth_sharing() && size("m") % rows == 0 && size("n") % cols == 0
                    : worth_sharing();
}

// Register tiles over c; the tiles below one panel of b form strips, the tasks.
void Product::tiles(const Cpu &cpu, const Tile &t, Var &jo, Var &io, Var &ib) {
    Var ji, ii;
    const int strip = cpu.pick("strip", {22, 43, 11});
    Func out = store();
    const Var n = var(2);
    out.split(var(0), jo, ji, t.vec * t.cols, Tail::ShiftInwards)
        .split(var(1), io, ii, t.rows, Tail::ShiftInwards);
    out.split(io, ib, io, strip, Tail::GuardWithIf)
        .reorder(ji, ii, io, ib, jo, n)
        .vectorize(ji, t.vec)
        .unroll(ji)
        .unroll(ii);
}

void Product::packed(const Cpu &cpu, const Tile &t, bool transposed) {
    if (transposed) memory[1].dim(1).set_stride(1);
    const Var n = var(2);
    Var jo, io, ib;
    Func part = blocks_of_k(cpu);
    tiles(cpu, t, jo, io, ib);
    pack_panel(part, jo, t, transposed);
    in_registers(part, io, t);
    share(store().specialize(may_share(cpu, t.rows, t.vec * t.cols)), {n, jo, ib});
}

void Product::paired(const Cpu &cpu, const Tile &t) {
    memory[0].dim(0).set_stride(1);
    cpu.pick("pairs", {types.count("T") && types.at("T") == DType::bf16});
    const Var n = var(2);
    Var jo, io, ib;
    Func part = sum.update()
                    .split(k.y, ko, ki, cpu.pick("block_k", {64, 128, 32}), Tail::GuardWithIf)
                    .rfactor(ko, u);
    tiles(cpu, t, jo, io, ib);
    for (Func f : {sum, part}) {
        f.bound_extent(j, t.vec * t.cols)
            .bound_extent(i, t.rows)
            .vectorize(j, t.vec)
            .unroll(j)
            .unroll(i);
    }
    sum.compute_at(store(), io).update().reorder(j, i, ko).vectorize(j, t.vec).unroll(j).unroll(i);
    part.compute_at(sum, ko).reorder_storage(j, i, g, u);
    part.update()
        .reorder(k.x, j, i, ki)
        .atomic()
        .vectorize(k.x)
        .vectorize(j, t.vec)
        .unroll(j)
        .unroll(i);
    pairs.compute_at(store(), jo)
        .bound_extent(j, t.vec * t.cols)
        .bound(q, 0, 2)
        .reorder_storage(q, j, u, g)
        .reorder(q, j, u);
    pairs.specialize(memory[1].dim(0).stride() == 1).vectorize(q).vectorize(j, t.vec);
    pairs.vectorize(q);
    finish_tile(io, t);
    share(store().specialize(may_share(cpu, t.rows, t.vec * t.cols)), {n, jo, ib});
}

void Product::direct(const Cpu &cpu, const Tile &t) {  // b read in place: contiguous along n
    memory[1].dim(0).set_stride(1);
    const Var n = var(2);
    Var jo, io, ib;
    Func part = blocks_of_k(cpu);
    tiles(cpu, t, jo, io, ib);
    in_registers(part, io, t);
    share(store().specialize(may_share(cpu, t.rows, t.vec * t.cols)), {n, jo, ib});
}

// both operands contiguous along k: lanes of partial sums, then one horizontal sum
void Product::dot(const Cpu &cpu, int rows, int cols) {
    memory[0].dim(0).set_stride(1);
    memory[1].dim(1).set_stride(1);
    Func out = store();
    const Var n = var(2);
    Var jo, ji, io, ii, to;
    // As many partial sums as AVX2 has: with four, k = 65536 lost 18 eps. Twice as many cost
    // baseline nothing (1 x 1000 x 1000: 1.00).
    const int v = cpu.lanes * (cpu.target.has_feature(Halide::Target::AVX2)
                                   ? cpu.pick("dot_vectors", {1, 2})
                                   : cpu.pick("dot_vectors", {2, 1}));
    Func parts = sum.update().split(k, ko, ki, v, Tail::GuardWithIf).rfactor(ki, u);
    out.split(var(0), jo, ji, cols, Tail::ShiftInwards)
        .split(var(1), io, ii, rows, Tail::ShiftInwards);
    Var inner = rows > cols ? jo : io;
    Var outer = rows > cols ? io : jo;
    out.split(outer, to, outer, cpu.pick("dot_strip", {16, 8, 32}), Tail::GuardWithIf);
    out.reorder(ji, ii, inner, outer, to, n).unroll(ji).unroll(ii);
    for (Func f : {sum, parts})
        f.compute_at(out, inner).bound_extent(j, cols).bound_extent(i, rows).unroll(j).unroll(i);
    parts.bound_extent(u, v).reorder_storage(u, j, i, g).vectorize(u, cpu.lanes).unroll(u);
    parts.update().reorder(u, j, i, ko).vectorize(u, cpu.lanes).unroll(u).unroll(j).unroll(i);
    sum.update().reorder(ki, j, i).atomic().vectorize(ki).unroll(j).unroll(i);
    const int vec = std::min(cols, cpu.lanes);
    finish_tile(inner, {vec, cols / vec, rows});
    share(out.specialize(may_share(cpu, rows, cols)), {n, to});
}

void Product::any(const Cpu &cpu) {  // every shape and stride; masked vectors at the edges
    Func out = store();
    Func part = blocks_of_k(cpu);
    const Var n = var(2);
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
    part.compute_at(sum, ko).reorder_storage(j, i, g, u).vectorize(j, v, Tail::RoundUp);
    part.update()
        .reorder(j, i, ki)
        .vectorize(j, v, Tail::Predicate)
        .unroll(i, rows, Tail::GuardWithIf);
    if (finished.defined()) by_cases(finished.compute_at(out, jo).vectorize(j, v, Tail::Predicate));
    const Expr dense = fused() ? Expr(true) : memory[1].dim(0).stride() == 1;  // else gathers
    // One row without the guards of eight: 0.45 of the time for 1 x 16 x 16 (Zen 5, AVX-512).
    out.specialize(dense && !worth_sharing() && out.output_buffer().dim(1).extent() == 1);
    share(out.specialize(dense && worth_sharing()), {n, io});
    out.specialize(dense);
}

void Product::multiply(const Problem &p, Array &sums, Array &terms) {
    const Array &x = p.tensors.at("a"), &y = p.tensors.at("b");
    const bool ta = p["transpose_a"];
    const bool tb = p["transpose_b"];
    sums = terms = Array({p["g"], p["m"], p["n"]});
    for (int64_t q = 0; q < p["g"]; q++) {
        for (int64_t r = 0; r < p["m"]; r++) {
            for (int64_t s = 0; s < p["n"]; s++) {
                for (int64_t t = 0; t < p["k"]; t++) {
                    const double product = (ta ? x(q, t, r) : x(q, r, t)) *
                                           (tb ? y(q, s, t) : y(q, t, s));
                    sums(q, r, s) += product;
                    if (std::isfinite(product)) terms(q, r, s) += std::fabs(product);
                }
            }
        }
    }
}

}  // namespace halyard
