// dropout_kernel: y = x / (1-p) if an element is kept, else 0. The tensor is one row of n elements.
#include "kernels/random/draws.h"

namespace halyard {
namespace {

using Halide::cast;
using Halide::UInt;

// The upper 24 bits of a random word, times 2^-24, are a number in [0, 1), which f32 represents
// exactly.
constexpr int unused_bits = 8;
constexpr double step = 0x1p-24;

struct DropoutKernel : Draws {
    DropoutKernel() : Draws("dropout_kernel", "x[n] -> y[n] mask:bool[n]") {
        doc = "y = x / (1-p) where mask, else 0; mask = u >= p, u uniform in [0, 1) of 24 bits";
        contract = {Contract::elementwise, 1.5};
        // In the last four samples p is the number that element 3, 20, 37 or 54 draws: one element
        // for each word of a block.
        samples = {"n=1",
                   "n=63",
                   "n=64",
                   "n=1000",
                   "n=4099 seed_lo=7 offset_lo=3",
                   "n=20011 seed_lo=5",
                   "n=64 p=0.787367761135101318359375",
                   "n=64 p=0.693663656711578369140625",
                   "n=64 p=0.670277774333953857421875",
                   "n=64 p=0.034535348415374755859375"};
        bench = {"n=4194304"};
    }
    Func x = input("x");
    Func y = output("y"), mask = output("mask");
    // `kept` has one byte per element, is stored and read by both outputs: drawing again for the
    // second one would take longer.
    Func random{"random"}, kept{"kept"};
    Expr p = scalar("p", 0.5);

    void algorithm() override {
        random(b) = Halide::Tuple(block_of(0));
        const Expr u = word(random(block_at(n)), word_at(n));
        kept(n) = cast(UInt(8), math::real(u >> unused_bits) * Expr(step) >= p);
        y(n) = select(kept(n) != 0, x(n) * (1_r / (1_r - p)), 0_r);
        mask(n) = kept(n) != 0;
    }
    void schedule(const Cpu &cpu) override {
        const int chunk = cpu.pick("chunk", {16384, 4096});
        Var task("task"), i("i"), w("w"), l("l");
        for (Func &f : out) {
            f.compute_root()
                .split(n, task, i, chunk, Tail::GuardWithIf)
                .parallel(task)
                .vectorize(i, f.name() == y.name() ? cpu.lanes : tile, Tail::GuardWithIf);
        }
        kept.compute_root()
            .align_bounds(n, tile)
            .split(n, n, l, tile, Tail::RoundUp)
            .split(l, w, l, tile_blocks);
        kept.split(n, task, n, chunk / tile, Tail::GuardWithIf)
            .parallel(task)
            .unroll(w)
            .vectorize(l);
        random.compute_at(kept, n).vectorize(b, tile_blocks, Tail::RoundUp);
    }
    void reference(Problem &q) const override {
        const double keep_from = q.real("p");
        for (int64_t i = 0; i < q["n"]; i++) {
            const bool kept = uniform(word(q, i, 0, word_at(i))) >= keep_from;
            q("mask")(i) = kept;
            q("y")(i) = kept ? q("x")(i) / (1 - keep_from) : 0;
        }
    }
};

// dx = dy / (1-p) if mask, else 0
struct DropoutKernelDx : Op {
    DropoutKernelDx() : Op("dropout_kernel_dx", "mask:bool[n] dy[n] -> dx[n]") {
        internal = true;
        contract = {Contract::elementwise, 1.5};
        samples = {"n=1", "n=63", "n=1000"};
        bench = {"n=4194304"};
    }
    Func mask = input("mask"), dy = input("dy");
    Func dx = output("dx");
    Expr p = scalar("p", 0.5);
    Var n{"n"};

    void algorithm() override { dx(n) = select(mask(n), dy(n) * (1_r / (1_r - p)), 0_r); }
    void schedule(const Cpu &cpu) override {
        Var task("task"), i("i");
        dx.split(n, task, i, cpu.pick("chunk", {16384, 4096}), Tail::GuardWithIf)
            .parallel(task)
            .vectorize(i, cpu.lanes, Tail::GuardWithIf);
    }
    void reference(Problem &q) const override {
        for (int64_t i = 0; i < q["n"]; i++)
            q("dx")(i) = q("mask")(i) != 0 ? q("dy")(i) / (1 - q.real("p")) : 0;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<DropoutKernel>();
    ops.add<DropoutKernelDx>();
}

}  // namespace halyard
