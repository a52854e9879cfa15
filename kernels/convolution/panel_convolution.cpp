// panel_convolution: a convolution with filters of 1 x 1 that are stored in panels of q channels,
// and its fused forms. Graph mode packs the filters of an inference once (graph/pack_weights.h) and
// calls these kernels, which have channels in the vector: small maps fill no vectors of pixels. The
// sums have the bits of conv2d's `pointwise`: all terms in their order.
#include <cmath>

#include "kernels/contraction/parallel_products.h"
#include "kernels/convolution/convolution.h"

namespace halyard {
namespace {

using Tail = Halide::TailStrategy;

// What is stored for a sum: itself; or, with a bias for each channel and perhaps a shortcut z, the
// sum held to low and high.
enum class Epilogue { none, bias_clamp, bias_add_clamp };

std::string name_with(Epilogue e) {
    std::string name = "panel_convolution";
    if (e == Epilogue::bias_clamp) name += "_bias_clamp";
    if (e == Epilogue::bias_add_clamp) name += "_bias_add_clamp";
    return name;
}

std::string signature_with(Epilogue e) {
    std::string inputs = "x[n,c,s] filters[p,c,q]";
    if (e != Epilogue::none) inputs += " bias[p,q]";
    if (e == Epilogue::bias_add_clamp) inputs += " z[n,p,q,s]";
    return inputs + " -> y[n,p,q,s]";
}

// Channel p * q + j of the filters is column j of panel p, so y[n,p,q,s] is y[n,p*q,s].
struct PanelConvolution : Op {
    explicit PanelConvolution(Epilogue of)
        : Op(name_with(of), signature_with(of)), has_bias(of != Epilogue::none),
          has_shortcut(of == Epilogue::bias_add_clamp) {
        internal = true;
        doc = "y = conv2d with filters of 1 x 1 in panels of q channels";
        dtypes = {"f32"};
        contract = {Contract::products, 8};
        // 14 pixels by two vectors take 28 of 32 registers, 6 by two 12 of 16. Of small maps the
        // last tile would repeat much of the one before it.
        add(tiles("tiles", {14, 6}, Dim("s") >= 100));
        add(tiles("tiles_small", {7, 5}, DimExpr::always()));
        add({"any", DimExpr::always()});
        samples = {"n=1 c=1 s=1 p=1 q=1",     "n=2 c=3 s=5 p=2 q=7",    "n=1 c=17 s=7 p=3 q=32",
                   "n=3 c=5 s=49 p=2 q=16",   "n=1 c=31 s=15 p=1 q=33", "n=2 c=257 s=28 p=3 q=32",
                   "n=1 c=64 s=197 p=2 q=32", "n=1 c=9 s=196 p=1 q=17", "n=1 c=33 s=13 p=5 q=31"};
        bench = {"n=1 c=1024 s=196 p=8 q=32", "n=1 c=256 s=196 p=32 q=32",
                 "n=1 c=2048 s=49 p=16 q=32", "n=1 c=512 s=49 p=64 q=32"};
    }

    const bool has_bias, has_shortcut;
    static inline const Tunable tile_pixels{"pixels"}, tile_vectors{"cols"};
    Func x = input("x"), filters = input("filters");
    Func bias = has_bias ? input("bias") : Func();
    Func z = has_shortcut ? input("z") : Func();
    Expr low = has_bias ? scalar("low", -HUGE_VAL) : Expr();
    Expr high = has_bias ? scalar("high", HUGE_VAL) : Expr();
    Func y = output("y");
    Func sum{"sum"};  // (j, i, p, n): column of the panel, pixel
    Var j{"j"}, i{"i"}, p{"p"}, n{"n"};
    RDom c;

    void algorithm() override {
        c = RDom(0, size("c"), "c");
        sum(j, i, p, n) += filters(j, c, p) * x(i, c, n);
        y(i, j, p, n) = epilogue(sum(j, i, p, n));
    }

    Expr epilogue(const Expr &value) const {
        if (!has_bias) return value;
        const Expr shortcut = has_shortcut ? z(i, j, p, n) : Expr();
        return clamped_sum(value, bias(j, p), shortcut, low, high);
    }

    struct Pixels {
        int of_32_registers, of_16_registers;
    };

    Variant tiles(const std::string &name, Pixels pixels, const DimExpr &condition) {
        return {name,
                condition && Dim("s") >= tile_pixels && Dim("q") >= tile_vectors * lanes,
                {.schedule = [this, pixels](const Cpu &cpu) { schedule_tiles(cpu, pixels); }}};
    }

    // The sums of a tile of pixels and a panel's columns stay in registers. The last tile of
    // pixels overlaps the one before it.
    void schedule_tiles(const Cpu &cpu, Pixels in_registers) {
        const int v = cpu.lanes;
        const int columns = v * cpu.pick(tile_vectors, {2});
        const int pixels = cpu.pick(
            tile_pixels,
            {cpu.has_32_registers() ? in_registers.of_32_registers : in_registers.of_16_registers});
        Func out = store();
        Var so, si, qo, qi;
        out.split(var(0), so, si, pixels, Tail::ShiftInwards)
            .split(var(1), qo, qi, columns, Tail::ShiftInwards)
            .reorder(si, qi, so, qo, var(2), var(3))
            .vectorize(si);
        sum.compute_at(out, so)
            .bound_extent(j, columns)
            .bound_extent(i, pixels)
            .vectorize(j, v)
            .unroll(j)
            .unroll(i);
        sum.update().reorder(j, i, c).vectorize(j, v).unroll(j).unroll(i);
        out.specialize(is_worth_threads()).parallel(var(2)).parallel(var(3));
    }

    // Takes every shape. Tiles at the edges have masked vectors.
    void schedule(const Cpu &cpu) override {
        const int v = cpu.lanes;
        Func out = store();
        Var qo, qi;
        out.split(var(1), qo, qi, v, Tail::GuardWithIf).reorder(qi, var(0), qo, var(2), var(3));
        sum.compute_at(out, var(0)).vectorize(j, v, Tail::RoundUp);
        sum.update().reorder(j, i, c).vectorize(j, v, Tail::Predicate);
        out.specialize(is_worth_threads()).parallel(var(2)).parallel(var(3));
    }

    Expr is_worth_threads() const { return has_many_products(*this, {"n", "c", "s", "p", "q"}); }

    void reference(Problem &problem) const override {
        const Array &in = problem("x"), &panels = problem("filters");
        const int64_t terms = problem["c"], pixels = problem["s"], columns = problem["q"];
        Array result({problem["n"], problem["p"], columns, pixels}), magnitude = result;
        for (int64_t image = 0; image < problem["n"]; image++) {
            for (int64_t panel = 0; panel < problem["p"]; panel++) {
                for (int64_t q = 0; q < columns; q++) {
                    for (int64_t s = 0; s < pixels; s++) {
                        double total = 0, abs_total = 0;
                        for (int64_t t = 0; t < terms; t++) {
                            const double product = in(image, t, s) * panels(panel, t, q);
                            total += product;
                            if (std::isfinite(product)) abs_total += std::fabs(product);
                        }
                        result(image, panel, q, s) = total;
                        magnitude(image, panel, q, s) = abs_total;
                    }
                }
            }
        }
        problem.tensors["y"] = result;
        problem.abs_sum["y"] = magnitude;
        if (has_bias) clamp_sums(problem, problem["p"] * columns, pixels);
    }
};

}  // namespace

HALYARD_OPS {
    for (const Epilogue e : {Epilogue::none, Epilogue::bias_clamp, Epilogue::bias_add_clamp})
        ops.add<PanelConvolution>(e);
}

}  // namespace halyard
