// matmul: c = a b, batched; either operand may be transposed.
//
// Transposition, batches and broadcasting reach the kernel as strides
// (registry/dispatch/planner.cpp), so no operand is copied before the kernel runs. The elements of
// a are broadcast to vectors one by one, so its strides don't matter. The layout of b decides
// between the variants: `b_s0` is its stride along n, `b_s1` its stride along k.
//
// Algorithm and schedules are those of Product (product.cpp). Why each variant exists, with
// measurements: docs/kernel_measurements.md, "matmul".
#include "kernels/contraction/product.h"

namespace halyard {
namespace {

struct Matmul : Product {
    Matmul() : Product("matmul", "a[..g,m,k] b[..g,k,n] -> c[..g,m,n]") {
        doc = "c = a b of the last two dimensions; the leading ones broadcast; transpose_a, "
              "transpose_b swap the last two of an operand";
        alias = "MatMul";
        dtypes = {"f32", "f16", "bf16", "f64", "i32"};
        add_variants();
        samples = {"g=1 m=1 k=1 n=1",
                   "g=1 m=3 k=5 n=7",
                   "g=3 m=37 k=37 n=37",
                   "g=1 m=200 k=19 n=97",
                   "g=1 m=1 k=130 n=129",
                   "g=2 m=3 k=259 n=1027",
                   "g=1 m=41 k=261 n=13",
                   "g=1 m=70 k=530 n=3 transpose_b=1",
                   "g=1 m=3 k=530 n=70 transpose_b=1",
                   "g=1 m=9 k=300 n=33 transpose_b=1",
                   "g=1 m=3 k=70 n=9 transpose_b=1",
                   "g=2 m=6 k=65 n=3 transpose_a=1 transpose_b=1",
                   "g=2 m=6 k=65 n=3 transpose_b=1",
                   "g=1 m=8 k=17 n=5",
                   "g=2 m=35 k=131 n=3",
                   "g=1 m=13 k=20 n=10",
                   "g=1 m=96 k=20 n=96",
                   "g=1 m=97 k=20 n=290",
                   "g=1 m=96 k=20 n=96 transpose_b=1",
                   "g=1 m=9 k=20 n=11 transpose_b=1",
                   "g=1 m=179 k=8 n=65",
                   "g=1 m=179 k=8 n=65 transpose_b=1",
                   "g=1 m=265 k=1034 n=33",
                   "g=1 m=1031 k=5 n=516",
                   "g=1 m=67 k=1030 n=132",
                   "g=3 m=131 k=8 n=676 transpose_b=1"};
        bench = {"g=1 m=512 k=512 n=512", "g=1 m=128 k=768 n=3072",
                 "g=1 m=32 k=400 n=120 transpose_b=1", "g=32 m=64 k=64 n=64"};
    }
    void add_variants() {
        const DimExpr is_transposed = stride(b, 1) == 1 && stride(b, 0) != 1;
        const DimExpr in_rows = stride(b, 0) == 1;
        const DimExpr is_wide = d.n >= tile_vectors * lanes;
        // Tiles and dot products of pairs of bf16, by instructions that count subnormal operands as
        // 0.
        add(amx_panels(has_pairs_along_k() && fills_matrix_tiles()));
        add(amx(has_pairs_along_k() && fills_matrix_tiles()));
        add(vnni(has_pairs_along_k() && d.m >= tile_rows && is_wide));

        // b is contiguous along k (transposed). Its panels are transposed while they are packed.
        // Tiles are one vector, several vectors or half a vector wide: as wide as n fills.
        add(narrow_t(is_transposed && d.m >= 8 && d.k >= 8 && d.n >= lanes && leaves_one_vector()));
        add(packed_t(is_transposed && d.m >= tile_rows && is_wide && d.k >= 8 &&
                     packs_wide_panels()));
        add(half_t(is_transposed && d.m >= 8 && d.n >= lanes / 2 && d.k >= 8 && lanes >= 4));

        // Both operands are contiguous along k, and there are few rows or columns: vectors run
        // along k.
        const DimExpr along_k = stride(b, 1) == 1 && stride(a) == 1;
        add(dot_row(along_k && d.m < 8 && d.n >= 4));
        add(dot_column(along_k && d.n < 8 && d.m >= 4));
        // Enough rows pay for the copy of a b that is contiguous along n.
        add(dot_column_packed(in_rows && stride(a) == 1 && d.n < 8 && d.n > 1 && d.m >= 32 &&
                              d.k >= 4 * lanes));

        // b is contiguous along n and read in place. Tiles are one vector, several vectors or half
        // a vector wide, or a single row. `narrow` is chosen if tiles of `direct` would compute
        // over a sixth more columns than n. `packed` copies panels of b instead, which pays if
        // enough rows read them or if b has another stride.
        const auto rounded_up = [&](int vectors) {
            return (d.n + vectors * lanes - 1) / (vectors * lanes);
        };
        add(narrow(in_rows && d.m >= 8 && d.n >= lanes && d.n <= max_narrow_n &&
                   (d.n < 4 * lanes || 24 * rounded_up(4) > 7 * ((d.n + lanes - 1) / lanes))));
        add(packed(may_pack > 0 && (d.m >= min_packed_m || (d.m >= 32 && d.n >= 1024)) &&
                   (stride(b, 0) != 1 || d.n >= min_packed_n) && is_wide));
        add(direct(in_rows && d.m >= 4 && is_wide));
        add(half(in_rows && d.m >= 8 && d.n >= lanes / 2 && lanes >= 4));
        // Rows of b that are pages apart are read a few at a time.
        add(wide_row(in_rows && d.m < 4 && d.n >= 1024));
        add(row(in_rows && is_wide));

        add(any());
        add_variants_for_gpus();
    }
    Func c = output("c");

    void define_output() override { c(j, i, g) = sum(j, i, g); }
    void reference(Problem &p) const override { reference_sums(p, p("c"), p.abs_sum["c"]); }
};

}  // namespace

HALYARD_OPS {
    ops.add<Matmul>();
}

}  // namespace halyard
