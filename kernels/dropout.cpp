// dropout on any tensor, seen as one row: y = x / (1-p) where an element is kept, else 0.
//
// Whether element i is kept is a pure function of (seed, offset, i): Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011), so every backend, ISA and thread count draws the same bits.
//   counter = (i / 64 * 16 + i % 16, 0, offset), key = seed, word i % 64 / 16:
// a block's four words serve elements 16 apart, so that vectors of blocks are vectors of elements.
#include <array>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::cast;
using Halide::UInt;

constexpr uint32_t multipliers[2] = {0xD2511F53, 0xCD9E8D57}, weyl[2] = {0x9E3779B9, 0xBB67AE85};
constexpr int rounds = 10, block = 16, words = 4;

std::vector<Halide::Expr> philox(std::array<Halide::Expr, 4> c, std::array<Halide::Expr, 2> key) {
    auto product = [](const Halide::Expr &a, uint32_t m) { return cast(UInt(64), a) * Halide::Internal::make_const(UInt(64), (int64_t)m); };
    for (int r = 0; r < rounds; r++) {
        const Halide::Expr p = product(c[0], multipliers[0]), q = product(c[2], multipliers[1]);
        c = {cast(UInt(32), q >> 32) ^ c[1] ^ key[0], cast(UInt(32), q), cast(UInt(32), p >> 32) ^ c[3] ^ key[1], cast(UInt(32), p)};
        for (size_t k = 0; k < 2; k++) key[k] = key[k] + Halide::Internal::make_const(UInt(32), (int64_t)weyl[k]);
    }
    return {c[0], c[1], c[2], c[3]};
}

std::array<uint32_t, 4> philox_words(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    for (int r = 0; r < rounds; r++) {
        const uint64_t p = (uint64_t)c[0] * multipliers[0], q = (uint64_t)c[2] * multipliers[1];
        c = {(uint32_t)(q >> 32) ^ c[1] ^ key[0], (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ key[1], (uint32_t)p};
        for (size_t k = 0; k < 2; k++) key[k] += weyl[k];
    }
    return c;
}

// A word as a real in [0, 1), in steps of 2^-24: exact in f32.
constexpr int unused_bits = 8;
constexpr double step = 0x1p-24;

struct Dropout : Op {
    Dropout() : Op("dropout_kernel", "x[..n] -> y[..n] mask:bool[..n]") {
        doc = "y = x / (1-p) where a Philox4x32-10 word says so, else 0; mask = kept";
        internal = true;
        contract = {Contract::elementwise, 1.5};
        samples = {"n=1", "n=63", "n=64", "n=1000", "n=4099 seed_lo=7 offset_lo=3", "n=20011 seed_lo=5"};
        bench = {"n=4194304"};
    }
    Func x = input("x"), y = output("y"), mask = output("mask");
    Func random{"random"}, kept{"kept"};  // a byte per element, for both outputs: drawing twice would cost more than the bytes
    Expr seed_lo = scalar("seed_lo", 0), seed_hi = scalar("seed_hi", 0), offset_lo = scalar("offset_lo", 0), offset_hi = scalar("offset_hi", 0);
    Expr p = scalar("p", 0.5);
    Var n{"n"}, b{"b"};

    void algorithm() override {
        auto bits = [](const Expr &e) { return cast(UInt(32), e); };
        random(b) = Halide::Tuple(
            philox({bits(b), Halide::Internal::make_const(UInt(32), 0), bits(offset_lo), bits(offset_hi)}, {bits(seed_lo), bits(seed_hi)}));
        const Halide::FuncRef drawn = random(n / (words * block) * block + n % block);
        const Expr word = n / block % words;
        const Expr u = select(word == 0, Expr(drawn[0]), word == 1, Expr(drawn[1]), word == 2, Expr(drawn[2]), Expr(drawn[3]));
        kept(n) = cast(UInt(8), math::real(u >> unused_bits) * Expr(step) >= p);
        y(n) = select(kept(n) != 0, x(n) * (1_r / (1_r - p)), 0_r);
        mask(n) = kept(n) != 0;
    }
    void schedule(const Cpu &cpu) override {
        const int chunk = cpu.pick("chunk", {16384, 4096});
        Var task("task"), i("i"), w("w"), l("l");
        for (Func &f : out)
            f.compute_root()
                .split(n, task, i, chunk, Tail::GuardWithIf)
                .parallel(task)
                .vectorize(i, f.name() == y.name() ? cpu.lanes : words * block, Tail::GuardWithIf);
        kept.compute_root().align_bounds(n, words * block).split(n, n, l, words * block, Tail::RoundUp).split(l, w, l, block);
        kept.split(n, task, n, chunk / (words * block), Tail::GuardWithIf).parallel(task).unroll(w).vectorize(l);
        random.compute_at(kept, n).vectorize(b, block, Tail::RoundUp);
    }
    void reference(Problem &q) const override {
        const double keep_from = q.real("p");
        for (int64_t i = 0; i < q["n"]; i++) {
            const auto c = philox_words({(uint32_t)(i / (words * block) * block + i % block), 0, (uint32_t)q["offset_lo"], (uint32_t)q["offset_hi"]},
                                        {(uint32_t)q["seed_lo"], (uint32_t)q["seed_hi"]});
            const bool kept = (double)(c[(size_t)(i / block % words)] >> unused_bits) * step >= keep_from;
            q("mask")(i) = kept;
            q("y")(i) = kept ? q("x")(i) / (1 - keep_from) : 0;
        }
    }
};

// dx = dy / (1-p) where mask, else 0
struct DropoutDx : Op {
    DropoutDx() : Op("dropout_kernel_dx", "mask:bool[..n] dy[..n] -> dx[..n]") {
        internal = true;
        contract = {Contract::elementwise, 1.5};
        samples = {"n=1", "n=63", "n=1000"};
        bench = {"n=4194304"};
    }
    Func mask = input("mask"), dy = input("dy"), dx = output("dx");
    Expr p = scalar("p", 0.5);
    Var n{"n"};

    void algorithm() override { dx(n) = select(mask(n), dy(n) * (1_r / (1_r - p)), 0_r); }
    void schedule(const Cpu &cpu) override {
        Var task("task"), i("i");
        dx.split(n, task, i, cpu.pick("chunk", {16384, 4096}), Tail::GuardWithIf).parallel(task).vectorize(i, cpu.lanes, Tail::GuardWithIf);
    }
    void reference(Problem &q) const override {
        for (int64_t i = 0; i < q["n"]; i++) q("dx")(i) = q("mask")(i) != 0 ? q("dy")(i) / (1 - q.real("p")) : 0;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Dropout>();
    ops.add<DropoutDx>();
}

}  // namespace halyard
