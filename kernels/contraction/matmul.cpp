// matmul: c = a b, batched, either operand transposed.
//
// Transposition, batches and broadcasting reach the kernel as strides (registry/dispatch/plan.cpp);
// nothing is copied before it. `a` is read as broadcast scalars, so its strides are free; what
// decides between the variants is how b lies: b_s0 is its stride along n, b_s1 along k. Ratios are
// OpenBLAS 0.3.21's time over ours, m x k x n in f32, one interleaved run of one thread on an AMD
// EPYC Zen 4 with AVX-512; above 1 ours is faster. A variant that is forced plans every call, which
// the smaller figures contain. docs/performance.md has more. `halyard tune` on Zen 5: where its
// tiles fit n exactly, direct takes 0.79 to 0.91 of narrow's time in f32 and f64 and 0.51 to 0.78
// in 16 bits (21 measurements); with 2 threads 0.83 to 0.94, and 1.05 for 100 x 300 x 192. packed,
// which is up to 5 % faster on one thread there, takes up to 1.18 of it with two. Transposed
// operands by tiles of one vector instead of two took 1.14 of packed_t's time (128 x 768 x 3072, 32
// x 400 x 120). narrow_t takes 0.85 of packed_t's time for 64 x 400 x 40, 0.70 of half_t's for 128
// x 256 x 20; vnni 0.51 of packed's for bf16 (1024 x 1024 x 1024). It counts subnormal operands as
// 0.
#include "kernels/contraction/product.h"

namespace halyard {
namespace {

struct Matmul : Product {
    Matmul() : Product("matmul", "a[..g,m,k] b[..g,k,n] -> c[..g,m,n]") {
        doc = "c = a b of the last two dimensions; the leading ones broadcast; transpose_a, "
              "transpose_b swap the last two of an operand";
        alias = "MatMul";
        gpu = true;
        // Each against the variant that would take its place, OpenBLAS's time over theirs:
        variants = {
            {"vnni", "pairs>0 a_s0==1 k%2==0 k>=2 m>=rows n>=cols*lanes"},
            {"narrow_t", "b_s1==1 b_s0!=1 m>=8 k>=8 n>=lanes "
                         "n<upto||n<8*lanes&&n%(2*lanes)>0&&n%(2*lanes)<=lanes"},
            // 512 x 512 x 512: 1.08, any 0.18
            {"packed_t", "b_s1==1 b_s0!=1 m>=rows n>=cols*lanes k>=8"},
            // 500 x 1000 x 10: 1.13, any 0.05
            {"half_t", "b_s1==1 b_s0!=1 m>=8 n>=lanes/2 k>=8 lanes>=4"},
            // 1 x 1000 x 1000: 0.73, any 0.15
            {"dot_row", "b_s1==1 a_s0==1 m<8 n>=4"},
            // 1000 x 1000 x 1: 0.69, any 0.04
            {"dot_column", "b_s1==1 a_s0==1 n<8 m>=4"},
            // 100 x 300 x 200: 0.99, direct 0.84; where four vectors at a time compute at most a
            // sixth more than one, direct takes 0.80 to 0.97 of the time (Zen 5; 0.84 for 100 x 100
            // x 100).
            {"narrow", "b_s0==1 m>=8 n>=lanes n<=most "
                       "n<4*lanes||24*((n+4*lanes-1)/(4*lanes))>7*((n+lanes-1)/lanes)"},
            // 2048 x 2048 x 2048: 1.05, direct 0.43
            {"packed", "packs>0 m>=least_m||m>=32&&n>=1024 b_s0!=1||n>=least_n n>=cols*lanes"},
            // 64 x 400 x 512: 1.12, packed 1.05
            {"direct", "b_s0==1 m>=4 n>=cols*lanes"},
            // 1000 x 300 x 10: 1.07, any 0.33
            {"half", "b_s0==1 m>=8 n>=lanes/2 lanes>=4"},
            // 1 x 1000 x 1000: 0.79, any 0.17
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
        multiply();
        c(j, i, g) = sum(j, i, g);
    }
    void reference(Problem &p) const override { Product::multiply(p, p("c"), p.abs_sum["c"]); }
};

}  // namespace

HALYARD_OPS {
    ops.add<Matmul>();
}

}  // namespace halyard
