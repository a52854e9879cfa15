// integer_product: products of 8-bit integers, u8 by i8, summed exactly in i32. Zero points and
// scales are added by primitives/composites/contraction/quantize.cpp.
#include "kernels/contraction/matrix_tiles.h"
#include "kernels/contraction/parallel_products.h"

namespace halyard {
namespace {

// Four products are summed at a time: by vpdpbusd, or without it by vpmaddwd twice. For that the
// panel of b that a column of tiles reads is packed: four successive k of a column are adjacent.
struct IntegerProduct : Op {
    IntegerProduct() : Op("integer_product", "a:u8[..g,m,k] b:i8[..g,k,n] -> c:i32[..g,m,n]") {
        internal = any_strides = true;
        flag("transpose_a", false);
        flag("transpose_b", false);
        dtypes = {"i32"};
        const Dim m("m"), n("n"), k("k");
        const DimExpr has_quads = stride(a) == 1 && k % 4 == 0 && k >= 4 && m >= tile_rows;
        const Steps packed_quads = {.algorithm = [this](const Build &) { sum_quads(); },
                                    .schedule = [this](const Cpu &cpu) { schedule_packed(cpu); }};
        const auto in_matrix_tiles = [this](MatrixTiles::Order order) {
            return Steps{
                .algorithm = [this](const Build &) { sum_in_tiles(); },
                .schedule = [this, order](const Cpu &cpu) { schedule_matrix_tiles(cpu, order); }};
        };
        const DimExpr fills_matrix_tiles = stride(a) == 1 && k % 4 == 0 && k >= 4 && m >= 16 &&
                                           n >= tile_columns;
        add({"amx_panels", fills_matrix_tiles && MatrixTiles::stays_in_l2(m, k),
             in_matrix_tiles(MatrixTiles::Order::panels_outside), Extension::amx});
        add({"amx", fills_matrix_tiles, in_matrix_tiles(MatrixTiles::Order::strips_outside),
             Extension::amx});
        add({"vnni", has_quads && n >= tile_cols * 16, packed_quads, Extension::vnni});
        add({"quads", has_quads && n >= tile_cols * lanes, packed_quads});
        add({"any", DimExpr::always()});
        samples = {"g=1 m=1 k=1 n=1",
                   "g=2 m=3 k=5 n=7",
                   "g=2 m=13 k=20 n=37",
                   "g=1 m=9 k=64 n=70 transpose_b=1",
                   "g=1 m=8 k=4 n=32 transpose_a=1",
                   "g=1 m=265 k=8 n=37",
                   "g=1 m=35 k=1100 n=40"};
        bench = {"g=1 m=512 k=512 n=512", "g=1 m=1024 k=1024 n=1024 transpose_b=1"};
    }
    Func a = input("a"), b = input("b");
    Func c = output("c");
    Func sum{"sum"}, packed{"packed"};
    Var j{"j"}, i{"i"}, g{"g"}, q{"q"}, kk{"kk"};
    RDom r;
    MatrixTiles tiles;  // amx

    static inline const Tunable tile_rows{"rows"}, tile_cols{"cols"};

    static Expr in_i32(const Expr &e) { return Halide::cast<int32_t>(e); }
    void algorithm() override {
        r = RDom(0, size("k"));
        sum(j, i, g) += in_i32(a(r, i, g)) * in_i32(b(j, r, g));
        c(j, i, g) = sum(j, i, g);
    }
    void sum_quads() {
        r = RDom(0, 4, 0, size("k") / 4);
        packed(q, j, kk, g) = b(j, 4 * kk + q, g);
        sum(j, i, g) += in_i32(a(4 * r.y + r.x, i, g)) * in_i32(packed(r.x, j, r.y, g));
        c(j, i, g) = sum(j, i, g);
    }

    // Tiles of `rows` rows by `cols` vectors stay in registers; strips of them are the tasks.
    void schedule_packed(const Cpu &cpu) {
        Func out = store();
        Var jo, ji, io, ii, ib;
        const int v = cpu.target.natural_vector_size(Halide::Int(32));
        const int cols = cpu.pick(tile_cols, {2});
        const int rows = cpu.pick(tile_rows, {cpu.has_32_registers() ? 8 : 4});
        promise_layout();
        out.split(var(0), jo, ji, cols * v, Tail::ShiftInwards)
            .split(var(1), io, ii, rows, Tail::ShiftInwards);
        out.split(io, ib, io, cpu.pick("strip", {32, 64, 16}), Tail::GuardWithIf)
            .reorder(ji, ii, io, ib, jo, var(2))
            .vectorize(ji, v)
            .unroll(ji)
            .unroll(ii);
        sum.compute_at(out, io)
            .bound_extent(j, cols * v)
            .bound_extent(i, rows)
            .vectorize(j, v)
            .unroll(j)
            .unroll(i);
        sum.update()
            .reorder(r.x, j, i, r.y)
            .atomic()
            .vectorize(r.x)
            .vectorize(j, v)
            .unroll(j)
            .unroll(i);
        packed.compute_at(out, jo)
            .bound_extent(j, cols * v)
            .bound(q, 0, 4)
            .reorder_storage(q, j, kk, g)
            .reorder(q, j, kk);
        packed.specialize(memory[1].dim(0).stride() == 1).vectorize(j, cols * v).unroll(q);
        packed.vectorize(q);
        const Expr in_parallel = is_worth_threads() &&
                                 may_share_tiles(*this, cpu, "m", rows, "n", cols * v);
        out.specialize(in_parallel).parallel(var(2)).parallel(jo).parallel(ib);
    }
    void sum_in_tiles() {
        const auto factor = [&](const Expr &kk, const Expr &i, const Expr &g) {
            return in_i32(a(kk, i, g));
        };
        const auto stored = [&](const Expr &j, const Expr &kk, const Expr &g) {
            return b(j, kk, g);
        };
        tiles.define(sum, 4, size("k") / 4, size("n"), {factor, stored, in_i32});
        c(j, i, g) = sum(j, i, g);
    }
    void schedule_matrix_tiles(const Cpu &cpu, MatrixTiles::Order order) {
        promise_layout();
        tiles.schedule(
            cpu, store(), {var(0), var(1), var(2)}, order,
            {.b_is_in_rows = memory[1].dim(0).stride() == 1, .in_parallel = is_worth_threads()});
    }
    Expr is_worth_threads() const {
        return has_many_products(*this, {"g", "m", "k", "n"}, 400'000);
    }
    // Takes every shape and stride.
    void schedule(const Cpu &cpu) override {
        Func out = store();
        Var jo, ji;
        const int v = cpu.target.natural_vector_size(Halide::Int(32));
        out.split(var(0), jo, ji, v, Tail::GuardWithIf).vectorize(ji).parallel(var(2));
        sum.compute_at(out, jo)
            .vectorize(j, v, Tail::GuardWithIf)
            .update()
            .reorder(j, r, i, g)
            .vectorize(j, v, Tail::GuardWithIf);
    }
    // All tensors begin at 0; a is contiguous along k, c along n.
    void promise_layout() {
        for (auto &tensor : memory) {
            for (int d = 0; d < 3; d++)
                tensor.dim(d).set_min(0);
        }
        for (int d = 0; d < 3; d++)
            store().output_buffer().dim(d).set_min(0);
        memory[0].dim(0).set_stride(1);
        store().output_buffer().dim(0).set_stride(1);
    }
    void reference(Problem &p) const override {
        const bool ta = p["transpose_a"];
        const bool tb = p["transpose_b"];
        for (int64_t h = 0; h < p["g"]; h++) {
            for (int64_t x = 0; x < p["m"]; x++) {
                for (int64_t y = 0; y < p["n"]; y++) {
                    double &total = p("c")(h, x, y) = 0;
                    for (int64_t t = 0; t < p["k"]; t++) {
                        total += (ta ? p("a")(h, t, x) : p("a")(h, x, t)) *
                                 (tb ? p("b")(h, y, t) : p("b")(h, t, y));
                    }
                }
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<IntegerProduct>();
}

}  // namespace halyard
