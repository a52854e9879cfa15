// matmul: c = a b, batched; either operand may be transposed.
//
// Transposition, batches and broadcasting reach the kernel as strides (registry/dispatch/plan.cpp),
// so no operand is copied before the kernel runs. The elements of a are broadcast to vectors one by
// one, so its strides don't matter. The layout of b decides between the variants: `b_s0` is its
// stride along n, `b_s1` its stride along k.
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
        gpu = true;
        variants = {
            // Dot products of pairs of bf16, by instructions that count subnormal operands as 0.
            {"vnni", "pairs>0 a_s0==1 k%2==0 k>=2 m>=rows n>=cols*lanes"},

            // b is contiguous along k (transposed). Its panels are transposed while they are
            // packed. Tiles are one vector, several vectors or half a vector wide: as wide as n
            // fills.
            {"narrow_t", "b_s1==1 b_s0!=1 m>=8 k>=8 n>=lanes "
                         "n<upto||n<8*lanes&&n%(2*lanes)>0&&n%(2*lanes)<=lanes"},
            {"packed_t", "b_s1==1 b_s0!=1 m>=rows n>=cols*lanes k>=8"},
            {"half_t", "b_s1==1 b_s0!=1 m>=8 n>=lanes/2 k>=8 lanes>=4"},

            // Both operands are contiguous along k, and there are few rows or columns: vectors run
            // along k.
            {"dot_row", "b_s1==1 a_s0==1 m<8 n>=4"},
            {"dot_column", "b_s1==1 a_s0==1 n<8 m>=4"},

            // b is contiguous along n. "packed" copies panels of b, if enough rows read them; the
            // others read b in place, in tiles of one vector, several vectors, half a vector, or a
            // single row. "narrow" is chosen if wide tiles would compute over a sixth more than n.
            {"narrow", "b_s0==1 m>=8 n>=lanes n<=most "
                       "n<4*lanes||24*((n+4*lanes-1)/(4*lanes))>7*((n+lanes-1)/lanes)"},
            {"packed", "packs>0 m>=least_m||m>=32&&n>=1024 b_s0!=1||n>=least_n n>=cols*lanes"},
            {"direct", "b_s0==1 m>=4 n>=cols*lanes"},
            {"half", "b_s0==1 m>=8 n>=lanes/2 lanes>=4"},
            {"row", "b_s0==1 n>=cols*lanes"},

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
                   "g=1 m=9 k=20 n=11 transpose_b=1",
                   "g=1 m=179 k=8 n=65",
                   "g=1 m=179 k=8 n=65 transpose_b=1"};
        bench = {"g=1 m=512 k=512 n=512", "g=1 m=128 k=768 n=3072",
                 "g=1 m=32 k=400 n=120 transpose_b=1", "g=32 m=64 k=64 n=64"};
    }
    Func c = output("c");

    void algorithm() override {
        define_sum();
        c(j, i, g) = sum(j, i, g);
    }
    void reference(Problem &p) const override { reference_sums(p, p("c"), p.abs_sum["c"]); }
};

}  // namespace

HALYARD_OPS {
    ops.add<Matmul>();
}

}  // namespace halyard
