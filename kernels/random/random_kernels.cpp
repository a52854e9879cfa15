// Random tensors. The kernels take seed and offset as 32-bit words; the ops are composed of them in
// primitives/composites/random/random.cpp.
//
// In f32 a kernel gives the same bits on every instruction set of a CPU: sums and products are not
// fused, and functions are polynomials of this project. There are two exceptions: on Ascend the
// logarithm is the device's, and in f64 normal_kernel calls libm.
#include "dsl/math/math_detail.h"
#include "kernels/random/draws.h"

namespace halyard {
namespace {

using Halide::cast;
using Halide::Float;
using Halide::Int;
using Halide::UInt;

// The base of the kernels. y[n] is a function of random words, computed in tiles of 64 elements,
// whose words stay in registers or in L1.
//
// In exact mode (docs/adr/001-values-are-reals.md) there are no functions of reals: a kernel then
// gives words themselves, as the check is whether every element gets its own.
struct Fill : Draws {
    Func y = output("y");
    Func random{"random"}, more{"more"};
    Fill(const std::string &op_name, const std::string &signature_text, const std::string &formula)
        : Draws(op_name, signature_text) {
        doc = formula;
        required("n", AttrKind::integer);
        conditions = {"n>=1"};
        samples = {"n=1",     "n=15",
                   "n=63",    "n=64",
                   "n=65",    "n=1009 seed_lo=-3 seed_hi=2 offset_lo=7 offset_hi=1",
                   "n=16384", "n=20011 seed_lo=5"};
        bench = {"n=4194304"};
    }

    // Returns log x in f32, computed from the bits of x. Ascend has no instructions for the bits,
    // but one for the logarithm. Callers wrap the result in strict_float(): its polynomial is not
    // strict, and would be fused on instruction sets with multiply-adds only.
    static Expr logarithm(const Build &build, const Expr &x) {
        return build.is_ascend() ? log(x) : math::log_f32(x);
    }

    void draw() {
        random(b) = Halide::Tuple(block_of(0));
        more(b) = Halide::Tuple(block_of(1));
    }
    Expr first() const { return word(random(block_at(n)), word_at(n)); }
    Expr second() const { return word(more(block_at(n)), word_at(n)); }

    // Schedules the Funcs of a derived class at the loop over tiles.
    virtual void schedule_stages(const Var &) {}
    // A tile is unrolled over the four words and vectorised over its 16 blocks. So the index of a
    // word is a constant, and a vector of elements is one word of a vector of blocks.
    void schedule(const Cpu &cpu) override {
        const int chunk = cpu.pick("chunk", {16384, 4096});
        Var task("task"), i("i"), part("part"), w("w"), l("l");
        Func last = store();
        last.output_buffer().dim(0).set_min(0);  // so tiles begin at multiples of 64
        last.compute_root().split(n, task, i, chunk, Tail::GuardWithIf).parallel(task);
        last.split(i, part, i, tile, Tail::GuardWithIf)
            .split(i, w, l, tile_blocks)
            .unroll(w)
            .vectorize(l);
        for (Func &f : {std::ref(random), std::ref(more)})
            f.compute_at(last, part).vectorize(b, tile_blocks, Tail::RoundUp);
        schedule_stages(part);
    }
};

struct UniformKernel : Fill {
    Expr low = scalar("low", 0.0), high = scalar("high", 1.0);
    // The largest value allowed, as rounding may give `high` itself.
    Expr max_value = scalar("most", 1.0);
    UniformKernel()
        : Fill("uniform_kernel", "-> y[n]",
               "y = min(low + u (high - low), most), u in [0, 1) of 24 bits, in f64 of 53") {
        attr("dtype", AttrKind::dtype, "f32");
        dtypes = {"f32", "f64"};
        contract = {Contract::products, 1.5};
        samples.push_back("n=1009 low=3 high=5 most=4.99");
    }
    void algorithm(const Build &build) override {
        draw();
        const Expr bits53 = cast(UInt(64), first()) << 21 | cast(UInt(64), second()) >> 11;
        const Expr u = build.stores(DType::f64)
                           ? math::real(cast(Int(64), bits53)) * Expr(0x1p-53)
                           : math::real(cast(Int(32), first() >> 8)) * Expr(0x1p-24);
        y(n) = min(math::plus(low, math::times(u, high - low)), max_value);
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const uint32_t a = word(p, i, 0, word_at(i));
            const uint32_t c = word(p, i, 1, word_at(i));
            const double u = p.dtype == DType::f64 ? double(uint64_t(a) << 21 | c >> 11) * 0x1p-53
                                                   : uniform(a);
            const double range = p.real("high") - p.real("low");
            p("y")(i) = std::fmin(p.real("low") + u * range, p.real("most"));
            abs_sum(i) = std::fabs(p.real("low")) + std::fabs(u * range);
        }
    }
};

// The Box-Muller transform: two words a and c give the normals r cos t and r sin t, where
// r = sqrt(-2 log u), u = (a / 2 | 1) / 2^31, t = 2 pi c / 2^32. Words 0 and 1 of a block make one
// pair, words 2 and 3 the other.
struct NormalKernel : Fill {
    Expr mean = scalar("mean", 0.0), stddev = scalar("stddev", 1.0);
    Func pair{"pair"};
    Var l{"l"}, half{"half"};
    NormalKernel()
        : Fill("normal_kernel", "-> y[n]",
               "y = mean + stddev z, z standard normals in pairs (Box and Muller), |z| <= 6.6") {
        attr("dtype", AttrKind::dtype, "f32");
        dtypes = {"f32", "f64"};
        contract = {Contract::products, 4};
        samples.push_back("n=1009 mean=3 stddev=5");
    }
    // Returns cos t and sin t in f32, for t = 2 pi c / 2^32. The nearest multiple of a quarter
    // turn, k quarter turns, is subtracted exactly. That leaves x in [-pi/4, pi/4], and
    //   k      0      1      2      3
    //   cos t  cos x  -sin x -cos x sin x
    //   sin t  sin x  cos x  -sin x -cos x
    // A quarter turn is 2^30. Adding half of one, 2^29, may wrap around, as a whole turn does: then
    // k is 0. The polynomials are those of Cephes, sinf.c (Moshier).
    static std::array<Expr, 2> cos_sin(const Expr &c) {
        const Expr quarters = (c + math::word(1u << 29)) >> 30;
        const Expr k = cast(Int(32), quarters);
        const Expr x = math::times(cast(Float(32), cast(Int(32), c - (quarters << 30))),
                                   math::num(1.5707963267948966 * 0x1p-30));
        const Expr z = math::times(x, x);
        auto horner = [&](double a, double b, double d) {
            return math::plus(
                math::times(math::plus(math::times(math::num(a), z), math::num(b)), z),
                math::num(d));
        };
        const Expr sine = math::plus(
            x, math::times(math::times(x, z),
                           horner(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)));
        const Expr cosine = math::plus(
            math::plus(math::num(1), math::times(z, math::num(-0.5))),
            math::times(math::times(z, z),
                        horner(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)));
        const Expr swap = (k & 1) != 0;
        auto with_sign = [&](const Expr &v, const Expr &negative) {
            return math::as_float(math::bits(v) ^ select(negative, math::mask(0x80000000), 0));
        };
        return {with_sign(select(swap, sine, cosine), k == 1 || k == 2),
                with_sign(select(swap, cosine, sine), k >= 2)};
    }
    void algorithm(const Build &build) override {
        draw();
        // b is the index of a tile, and l that of a block in the tile.
        const Halide::FuncRef block = random(b * tile_blocks + l);
        const Expr a = select(half == 0, Expr(block[0]), Expr(block[2]));
        const Expr c = select(half == 0, Expr(block[1]), Expr(block[3]));
        const Expr u31 = cast(Int(32), a >> 1) | 1;
        if (build.is_exact()) {
            pair(l, half, b) = Halide::Tuple(math::real(a), math::real(c));
        } else if (build.stores(DType::f64)) {
            const Expr r = sqrt(-2_r * log(math::real(u31) * Expr(0x1p-31)));
            const Expr t = math::real(c) * Expr(6.283185307179586 * 0x1p-32);
            pair(l, half, b) = Halide::Tuple(r * cos(t), r * sin(t));
        } else {
            const Expr u = math::times(cast(Float(32), u31), math::num(0x1p-31));
            // Strict, so that the root is rounded correctly on every instruction set.
            const Expr r = strict_float(sqrt(math::times(logarithm(build, u), math::num(-2))));
            const auto [cosine, sine] = cos_sin(c);
            pair(l, half, b) = Halide::Tuple(math::times(r, cosine), math::times(r, sine));
        }
        const Halide::FuncRef both = pair(n % tile_blocks, n / (2 * tile_blocks) % 2, n / tile);
        const Expr z = select(word_at(n) % 2 == 0, math::real(both[0]), math::real(both[1]));
        y(n) = math::plus(mean, math::times(stddev, z));
    }
    void schedule_stages(const Var &part) override {
        pair.compute_at(store(), part).unroll(half).vectorize(l, tile_blocks, Tail::RoundUp);
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const int64_t w = word_at(i);
            const double exact = double(word(p, i, 0, w / 2 * 2) >> 1 | 1) * 0x1p-31;
            const double u = p.dtype == DType::f64 ? exact : double(float(exact));
            const double r = std::sqrt(-2 * std::log(u));
            const double t = 6.283185307179586 * 0x1p-32 * word(p, i, 0, w / 2 * 2 + 1);
            p("y")(i) = p.real("mean") + p.real("stddev") * r * (w % 2 ? std::sin(t) : std::cos(t));
            abs_sum(i) = std::fabs(p.real("mean")) + std::fabs(p.real("stddev")) * r;
        }
    }
};

// The probability that a standard normal is between -2 and 2: erf(sqrt 2).
constexpr double within_two = 0.9544997361036416;

// z = sqrt(2) erfinv(v erf(sqrt 2)), where v is uniform in (-1, 1). v is an odd multiple of 2^-24,
// so it is never 0, and v and -v are equally probable.
struct TruncatedNormalKernel : Fill {
    Expr mean = scalar("mean", 0.0), stddev = scalar("stddev", 1.0);
    TruncatedNormalKernel()
        : Fill("truncated_normal_kernel", "-> y[n]",
               "y = mean + stddev z, z normal between -2 and 2") {
        attr("dtype", AttrKind::dtype, "f32");
        dtypes = {"f32"};
        contract = {Contract::products, 6};
        samples.push_back("n=1009 mean=3 stddev=5");
    }
    // Returns erfinv(x) for |x| <= erf(sqrt 2) (Giles: "Approximating the erfinv function", GPU
    // Computing Gems, 2011). That is Giles's case w < 5 alone, with w = -log((1 - x)(1 + x)): here
    // w is at most 2.5. The polynomial is one of w - 2.5.
    static Expr erfinv(const Build &build, const Expr &x) {
        const Expr w = math::minus(
            math::times(strict_float(logarithm(build, math::times(math::minus(math::num(1), x),
                                                                  math::plus(math::num(1), x)))),
                        math::num(-1)),
            math::num(2.5));
        Expr p = math::num(2.81022636e-08);
        for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                         -0.00125372503, -0.00417768164, 0.246640727, 1.50140941})
            p = math::plus(math::times(p, w), math::num(c));
        return math::times(p, x);
    }
    void algorithm(const Build &build) override {
        draw();
        const Expr odd = cast(Int(32), first() >> 8) * 2 + 1 - (1 << 24);
        const Expr z = math::times(
            erfinv(build, math::times(cast(Float(32), odd), math::num(within_two * 0x1p-24))),
            math::num(1.4142135623730951));
        y(n) = math::plus(mean, math::times(stddev, math::real(build.is_exact() ? first() : z)));
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const double v = (2 * uniform(word(p, i, 0, word_at(i))) - 1 + 0x1p-24) * within_two;
            // Newton's method; the derivative of erf(z / sqrt 2) is sqrt(2 / pi) exp(-z^2 / 2).
            double z = 0;
            for (int step = 0; step < 60; step++) {
                z -= (std::erf(z / 1.4142135623730951) - v) /
                     (0.7978845608028654 * std::exp(-z * z / 2));
            }
            p("y")(i) = p.real("mean") + p.real("stddev") * z;
            abs_sum(i) = std::fabs(p.real("mean")) + std::fabs(p.real("stddev") * z);
        }
    }
};

// y = low + floor(range w / 2^64), where w has 64 random bits and range is at most 2^32. The
// probabilities of two values differ by at most 2^-32 of their size.
struct RandintKernel : Fill {
    Expr low_lo = scalar("low_lo", 0), low_hi = scalar("low_hi", 0),
         range_less_1 = scalar("range_less_1", 9);
    RandintKernel()
        : Fill("randint_kernel", "-> y:i64[n]",
               "y = low + floor(range w / 2^64), w a word of 64 bits") {
        dtypes = {"i64"};
        contract = {Contract::elementwise, 0};
        samples.push_back("n=1009 low_lo=-5 low_hi=-1 range_less_1=-1");
        samples.push_back("n=1009 low_hi=7 range_less_1=0");
        // A whole task whose sums carry.
        samples.push_back("n=16387 low_lo=-5 low_hi=-1 range_less_1=-1");
    }
    static Expr as_u64(const Expr &e) { return cast(UInt(64), cast(UInt(32), e)); }
    void algorithm() override {
        draw();
        const Expr range = as_u64(range_less_1) + Halide::Internal::make_const(UInt(64), 1);
        // The upper 64 bits of the product of `range`, of 33 bits, and w. No sum here exceeds 64
        // bits: range (2^32 - 1) + 2^32 - 1 is less than 2^64.
        const Expr offset = (as_u64(first()) * range + (as_u64(second()) * range >> 32)) >> 32;
        y(n) = cast(Int(64), (as_u64(low_hi) << 32 | as_u64(low_lo)) + offset);
    }
    void reference(Problem &p) const override {
        const uint64_t range = uint64_t(uint32_t(p["range_less_1"])) + 1;
        const uint64_t low = uint64_t(uint32_t(p["low_hi"])) << 32 | uint32_t(p["low_lo"]);
        for (int64_t i = 0; i < p["n"]; i++) {
            const uint64_t high_part = range * word(p, i, 0, word_at(i));
            const uint64_t low_part = range * word(p, i, 1, word_at(i));
            p("y")(i) = double(int64_t(low + ((high_part + (low_part >> 32)) >> 32)));
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<UniformKernel>();
    ops.add<NormalKernel>();
    ops.add<TruncatedNormalKernel>();
    ops.add<RandintKernel>();
}

}  // namespace halyard
