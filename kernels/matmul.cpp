// matmul: c = a b, batched, either operand transposed. One algorithm, a register tile per variant.
//
// Transposition, batches and broadcasting reach the kernel as strides (registry/plan.cpp); nothing is copied before it. `a` is read as
// broadcast scalars, so its strides are free; what decides between the variants is how b lies: b_s0 is its stride along n, b_s1 along k.
// Ratios are OpenBLAS 0.3.21's time over ours, m x k x n in f32, one interleaved run of one thread on an AMD EPYC Zen 4 with AVX-512;
// above 1 ours is faster. A variant that is forced plans every call, which the smaller figures contain. docs/performance.md has more.
// `halyard tune` on Zen 5: where its tiles fit n exactly, direct takes 0.79 to 0.91 of narrow's time in f32 and f64 and 0.51 to 0.78 in
// 16 bits (21 measurements); with 2 threads 0.83 to 0.94, and 1.05 for 100 x 300 x 192. packed, which is up to 5 % faster on one
// thread there, takes up to 1.18 of it with two.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

struct Matmul : Op {
    Matmul() : Op("matmul", "a[..g,m,k] b[..g,k,n] -> c[..g,m,n]") {
        doc = "c = a b of the last two dimensions; the leading ones broadcast; transpose_a, transpose_b swap the last two of an operand";
        alias = "MatMul";
        flag("transpose_a", false);
        flag("transpose_b", false);
        any_strides = true;
        gpu = true;
        contract = {Contract::products, 16};
        // Each against the variant that would take its place, OpenBLAS's time over theirs:
        variants = {
            {"packed_t", "b_s1==1 b_s0!=1 m>=rows n>=cols*lanes k>=8"},                          // 512 x 512 x 512: 1.08, any 0.18
            {"half_t", "b_s1==1 b_s0!=1 m>=8 n>=lanes/2 k>=8 lanes>=4"},                         // 500 x 1000 x 10: 1.13, any 0.05
            {"dot_row", "b_s1==1 a_s0==1 m<8 n>=4"},                                             // 1 x 1000 x 1000: 0.73, any 0.15
            {"dot_column", "b_s1==1 a_s0==1 n<8 m>=4"},                                          // 1000 x 1000 x 1: 0.69, any 0.04
            {"narrow", "b_s0==1 m>=8 n>=lanes n<=most n%(4*lanes)!=0"},                          // 100 x 300 x 200: 0.99, direct 0.84
            {"packed", "packs>0 m>=least_m||m>=32&&n>=1024 b_s0!=1||n>=least_n n>=cols*lanes"},  // 2048 x 2048 x 2048: 1.05, direct 0.43
            {"direct", "b_s0==1 m>=4 n>=cols*lanes"},                                            // 64 x 400 x 512: 1.12, packed 1.05
            {"half", "b_s0==1 m>=8 n>=lanes/2 lanes>=4"},                                        // 1000 x 300 x 10: 1.07, any 0.33
            {"row", "b_s0==1 n>=cols*lanes"},                                                    // 1 x 1000 x 1000: 0.79, any 0.17
            {"any", ""},
        };
        samples = {"g=1 m=1 k=1 n=1",
                   "g=1 m=3 k=5 n=7",
                   "g=3 m=37 k=37 n=37",
                   "g=1 m=200 k=19 n=97",
                   "g=1 m=1 k=130 n=129",
                   "g=1 m=41 k=261 n=13",
                   "g=1 m=70 k=530 n=3 transpose_b=1",
                   "g=1 m=3 k=530 n=70 transpose_b=1",
                   "g=1 m=9 k=300 n=33 transpose_b=1",
                   "g=1 m=3 k=70 n=9 transpose_b=1",
                   "g=2 m=6 k=65 n=3 transpose_a=1 transpose_b=1",
                   "g=2 m=6 k=65 n=3 transpose_b=1",
                   "g=1 m=8 k=17 n=5",
                   "g=1 m=13 k=20 n=10",
                   "g=1 m=96 k=20 n=96",
                   "g=1 m=97 k=20 n=290",
                   "g=1 m=96 k=20 n=96 transpose_b=1",
                   "g=1 m=179 k=8 n=65",
                   "g=1 m=179 k=8 n=65 transpose_b=1"};
        bench = {"g=1 m=512 k=512 n=512", "g=1 m=128 k=768 n=3072", "g=1 m=32 k=400 n=120 transpose_b=1", "g=32 m=64 k=64 n=64"};
    }
    Func a = input("a"), b = input("b"), c = output("c"), sum{"sum"};
    Var j{"j"}, i{"i"}, g{"g"}, u{"u"};
    RDom k;
    RVar ko{"ko"}, ki{"ki"};

    void algorithm() override {
        k = RDom(0, size("k"), "k");
        sum(j, i, g) += a(k, i, g) * b(j, k, g);
        c(j, i, g) = sum(j, i, g);
    }

    // vec lanes per vector; cols vectors x rows accumulators stay in registers
    struct Tile {
        int vec, cols, rows;
    };

    void schedule(const Cpu &cpu) override {
        if (fused()) return any(cpu);  // operands that are computed have no strides to choose by
        const int v = cpu.lanes;
        const bool wide = cpu.has_avx512();  // 32 vector registers, else 16
        for (auto &m : memory)
            for (int d = 0; d < 3; d++) m.dim(d).set_min(0);
        for (int d = 0; d < 3; d++) store().output_buffer().dim(d).set_min(0);
        store().output_buffer().dim(0).set_stride(1);
        const std::string &w = cpu.variant;
        if (w == "packed") packed(cpu, {v, cpu.pick("cols", {wide ? 4 : 3}), 4}, false);
        else if (w == "packed_t") packed(cpu, {v, cpu.pick("cols", {wide ? 1 : 3}), cpu.pick("rows", {wide ? 8 : 4})}, true);
        else if (w == "half_t") packed(cpu, {std::max(1, v / 2), 1, 8}, true);
        else if (w == "direct") direct(cpu, {v, cpu.pick("cols", {wide ? 4 : 3}), 4});
        else if (w == "narrow") direct(cpu, {v, 1, 8});
        else if (w == "half") direct(cpu, {std::max(1, v / 2), 1, 8});
        else if (w == "row") direct(cpu, {v, cpu.pick("cols", {4, 8, 2}), 1});
        else if (w == "dot_row") dot(cpu, 1, 4);
        else if (w == "dot_column") dot(cpu, 4, 1);
        else any(cpu);
        if (w == "narrow") cpu.pick("most", {wide ? 16 * v : 3 * v - 1});
        if (w != "packed") return;
        cpu.pick("least_m", {wide ? 96 : 4});
        cpu.pick("least_n", {wide ? 16 * v + 1 : 1});
        // Converted from f16, each scalar of a waits for the one before it: vpinsrw keeps the rest of its register. direct, where LLVM
        // converts vectors, takes 0.33 of the time (512 x 512 x 512, Zen 5, AVX-512).
        const bool f16 = types.count("T") && types.at("T") == DType::f16;
        cpu.pick("packs", {wide && f16 ? 0 : 1});
    }

    void schedule(const Gpu &) override {
        Var ji("ji"), ii("ii");
        store().gpu_tile(var(0), var(1), ji, ii, 16, 8, Tail::GuardWithIf).gpu_blocks(var(2));
        sum.compute_at(store(), ji);
    }

    // The sum of one register tile: block_k products run in registers, then the blocks are added up, which keeps the error flat in k
    // (34 eps instead of 2.7 at k = 4096 without blocks). 128 costs nothing on AVX-512 and 2-4 % elsewhere.
    Func blocks_of_k(const Cpu &cpu) {
        const int block = cpu.has_avx512() ? cpu.pick("block_k", {128, 256, 64}) : cpu.pick("block_k", {256, 128, 512});
        return sum.update().split(k, ko, ki, block, Tail::GuardWithIf).rfactor(ko, u);
    }
    void in_registers(Func part, const Var &at, const Tile &t) {
        for (Func f : {sum, part}) f.bound_extent(j, t.vec * t.cols).bound_extent(i, t.rows).vectorize(j, t.vec).unroll(j).unroll(i);
        sum.compute_at(store(), at);
        part.compute_at(sum, ko).reorder_storage(j, i, g, u);
        sum.update().reorder(j, i, ko).vectorize(j, t.vec).unroll(j).unroll(i);
        part.update().reorder(j, i, ki).vectorize(j, t.vec).unroll(j).unroll(i);
    }
    // One panel of b (all k x one tile's columns) made contiguous; its minimum moves with the tile, so ShiftInwards needs no padding.
    void pack_panel(Func part, const Var &jo, const Tile &t, bool transposed) {
        Func panel = b.in(part);
        Var x = panel.args()[0], y = panel.args()[1], xi, yi;
        panel.compute_at(store(), jo).bound_extent(x, t.vec * t.cols);
        if (transposed) {  // b is contiguous along k: q x q blocks, read along k, turned in registers
            const int q = std::min(8, t.vec * t.cols);
            Func turn = b.in(panel);
            Var tx = turn.args()[0], ty = turn.args()[1];
            panel.split(x, x, xi, q).split(y, y, yi, q, Tail::ShiftInwards).reorder(xi, yi, x, y).vectorize(xi).unroll(yi);
            turn.compute_at(panel, x).bound_extent(tx, q).bound_extent(ty, q).reorder_storage(ty, tx, turn.args()[2]);
            turn.reorder(ty, tx).vectorize(ty, q).unroll(tx);
        } else {  // contiguous along n: vector copies; any other stride: gathers
            panel.specialize(memory[1].dim(0).stride() == 1).vectorize(x, t.vec).unroll(x).unroll(y, 4, Tail::GuardWithIf);
            panel.vectorize(x, t.vec).unroll(x);
        }
    }
    static void share(Halide::Stage s, const std::vector<Var> &loops) {
        for (const Var &v : loops) s.parallel(v);
    }
    Expr worth_sharing() const {  // below this many products, one thread: waking the pool costs more
        Expr work = Halide::cast<int64_t>(size("g"));
        for (const char *extent : {"m", "k", "n"}) work *= size(extent);
        return work >= Halide::cast<int64_t>(100000);
    }
    // A ragged edge's last tile overlaps the one before it, another task's: both write the same bits there. ThreadSanitizer can't know,
    // so its kernels share out only products without ragged edges.
    Expr may_share(const Cpu &cpu, int rows, int cols) const {
        const bool disjoint = cpu.target.has_feature(Halide::Target::TSAN);
        return disjoint ? worth_sharing() && size("m") % rows == 0 && size("n") % cols == 0 : worth_sharing();
    }

    // Register tiles over c; the tiles below one panel of b form strips, the tasks.
    void tiles(const Cpu &cpu, const Tile &t, Var &jo, Var &io, Var &ib) {
        Var ji, ii;
        const int strip = cpu.pick("strip", {22, 43, 11});
        Func out = store();
        const Var n = var(2);
        out.split(var(0), jo, ji, t.vec * t.cols, Tail::ShiftInwards).split(var(1), io, ii, t.rows, Tail::ShiftInwards);
        out.split(io, ib, io, strip, Tail::GuardWithIf).reorder(ji, ii, io, ib, jo, n).vectorize(ji, t.vec).unroll(ji).unroll(ii);
    }
    void packed(const Cpu &cpu, const Tile &t, bool transposed) {
        if (transposed) memory[1].dim(1).set_stride(1);
        const Var n = var(2);
        Var jo, io, ib;
        Func part = blocks_of_k(cpu);
        tiles(cpu, t, jo, io, ib);
        pack_panel(part, jo, t, transposed);
        in_registers(part, io, t);
        share(store().specialize(may_share(cpu, t.rows, t.vec * t.cols)), {n, jo, ib});
    }
    void direct(const Cpu &cpu, const Tile &t) {  // b read in place: contiguous along n
        memory[1].dim(0).set_stride(1);
        const Var n = var(2);
        Var jo, io, ib;
        Func part = blocks_of_k(cpu);
        tiles(cpu, t, jo, io, ib);
        in_registers(part, io, t);
        share(store().specialize(may_share(cpu, t.rows, t.vec * t.cols)), {n, jo, ib});
    }
    void dot(const Cpu &cpu, int rows, int cols) {  // both operands contiguous along k: lanes of partial sums, then one horizontal sum
        memory[0].dim(0).set_stride(1);
        memory[1].dim(1).set_stride(1);
        Func out = store();
        const Var n = var(2);
        Var jo, ji, io, ii, to;
        // As many partial sums as AVX2 has: with four, k = 65536 lost 18 eps. Twice as many cost baseline nothing (1 x 1000 x 1000: 1.00).
        const int v = cpu.lanes * (cpu.target.has_feature(Halide::Target::AVX2) ? cpu.pick("dot_vectors", {1, 2}) : cpu.pick("dot_vectors", {2, 1}));
        Func parts = sum.update().split(k, ko, ki, v, Tail::GuardWithIf).rfactor(ki, u);
        out.split(var(0), jo, ji, cols, Tail::ShiftInwards).split(var(1), io, ii, rows, Tail::ShiftInwards);
        Var inner = rows > cols ? jo : io, outer = rows > cols ? io : jo;
        out.split(outer, to, outer, cpu.pick("dot_strip", {16, 8, 32}), Tail::GuardWithIf);
        out.reorder(ji, ii, inner, outer, to, n).unroll(ji).unroll(ii);
        for (Func f : {sum, parts}) f.compute_at(out, inner).bound_extent(j, cols).bound_extent(i, rows).unroll(j).unroll(i);
        parts.bound_extent(u, v).reorder_storage(u, j, i, g).vectorize(u, cpu.lanes).unroll(u);
        parts.update().reorder(u, j, i, ko).vectorize(u, cpu.lanes).unroll(u).unroll(j).unroll(i);
        sum.update().reorder(ki, j, i).atomic().vectorize(ki).unroll(j).unroll(i);
        share(out.specialize(may_share(cpu, rows, cols)), {n, to});
    }
    void any(const Cpu &cpu) {  // every shape and stride; masked vectors at the edges
        Func out = store(), part = blocks_of_k(cpu);
        const Var n = var(2);
        Var jo, ji, io, ii;
        const int v = cpu.lanes, rows = cpu.pick("rows", {8, 4, 2});
        out.tile(var(0), var(1), jo, io, ji, ii, v, rows, Tail::GuardWithIf).vectorize(ji, v, Tail::Predicate);
        sum.compute_at(out, jo).vectorize(j, v, Tail::RoundUp);
        sum.update().reorder(j, i, ko).vectorize(j, v, Tail::Predicate).unroll(i, rows, Tail::GuardWithIf);
        part.compute_at(sum, ko).reorder_storage(j, i, g, u).vectorize(j, v, Tail::RoundUp);
        part.update().reorder(j, i, ki).vectorize(j, v, Tail::Predicate).unroll(i, rows, Tail::GuardWithIf);
        const Expr dense = fused() ? Expr(true) : memory[1].dim(0).stride() == 1;  // else gathers
        share(out.specialize(dense && worth_sharing()), {n, io});
        out.specialize(dense);
    }

    void reference(Problem &p) const override {
        const Array &x = p.tensors.at("a"), &y = p.tensors.at("b");
        Array &z = p("c"), &size = p.magnitude["c"];
        size = Array(z.shape);
        const bool ta = p["transpose_a"], tb = p["transpose_b"];
        for (int64_t q = 0; q < p["g"]; q++)
            for (int64_t r = 0; r < p["m"]; r++)
                for (int64_t s = 0; s < p["n"]; s++) {
                    double total = 0, terms = 0;
                    for (int64_t t = 0; t < p["k"]; t++) {
                        const double product = (ta ? x(q, t, r) : x(q, r, t)) * (tb ? y(q, s, t) : y(q, t, s));
                        total += product;
                        if (std::isfinite(product)) terms += std::fabs(product);
                    }
                    z(q, r, s) = total, size(q, r, s) = terms;
                }
    }
};

}  // namespace

HALYARD_OPS { ops.add<Matmul>(); }

}  // namespace halyard
