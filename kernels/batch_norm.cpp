// What batch_norm, group_norm and instance_norm are made of (primitives/norm.cpp): each of c channels brought to mean 0 and variance 1.
// Two layouts, as two ops: planes[n,c,s] of s pixels, and channels last, [r,c].
//
// Statistics are those of blocks (a plane, or `block_rows` rows), which are read twice while they are in cache, joined as Chan, Golub and
// LeVeque do ("Updating formulae and a pairwise algorithm for computing sample variances", 1979). So a mean much larger than the
// deviations from it costs no digits, and what its own rounding lost, the mean of x - mean, is kept beside it as `rest`. x - mean must not
// be taken apart, so it is strict.
#include "kernels/rows.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::strict_float;
using Halide::Tuple;

constexpr int block_rows = 64, block_run = 32, task_elements = 16384;

struct BatchNorm : Op {
    const bool planes;
    // `x` in the texts stands for the extents of a full tensor.
    BatchNorm(bool in_planes, const std::string &suffix, const std::string &signature)
        : Op((in_planes ? "batch_norm_planes" : "batch_norm_channels") + suffix, with_extents(signature, in_planes ? "[n,c,s]" : "[r,c]")), planes(in_planes) {
        internal = true;
        let("x_least", "c==2?10000:-2");  // a mean of 1e4 standard deviations: a sum of squares less their mean's has no digit left
        conditions = {planes ? "n*s>0" : "r>0"};
        dtypes = {"f32,f32", "f16,f32", "bf16,f32", "f64,f64"};
        if (planes) samples = {"n=1 c=1 s=1", "n=2 c=3 s=7", "n=3 c=5 s=64", "n=5 c=2 s=37", "n=1 c=2 s=131", "n=70 c=3 s=3", "n=2 c=1 s=1031"};
        else samples = {"r=1 c=1", "r=5 c=7", "r=64 c=16", "r=65 c=33", "r=200 c=2", "r=131 c=17", "r=1031 c=64"};
        bench = {planes ? "n=32 c=64 s=3136" : "r=100352 c=64"};
    }
    static std::string with_extents(std::string s, const std::string &extents) {
        for (size_t at = 0; (at = s.find('@')) != std::string::npos;) s.replace(at, 1, extents);
        return s;
    }
    Expr eps = scalar("epsilon", 1e-5);
    Var s{"s"}, c{"c"}, n{"n"}, b{"b"}, g{"g"};
    RDom k, all;  // a block's elements; the blocks

    void domains() {
        k = RDom(0, planes ? size("s") : Expr(block_rows));
        if (!planes) k.where(b * block_rows + k < size("r"));
        all = RDom(0, blocks());
    }
    Expr blocks() const { return planes ? size("n") : (size("r") + (block_rows - 1)) / block_rows; }
    Expr count() const { return planes ? math::real(size("n")) * math::real(size("s")) : math::real(size("r")); }
    Expr count_of(const Expr &block) const { return math::real(planes ? size("s") : min(size("r") - block * block_rows, block_rows)); }
    // Element k of block b; the full tensor's own element.
    Expr in_block(const Func &x) const { return planes ? x(k, c, b) : x(c, Halide::unsafe_promise_clamped(b * block_rows + k, 0, size("r") - 1)); }
    std::vector<Var> full() const { return planes ? std::vector<Var>{s, c, n} : std::vector<Var>{c, n}; }

    // planes: a task is a channel, which stays in L2; what it sums is given out by outputs that share its loop.
    // channels: blocks are summed at first, then lines of pixels computed. Vectors run along c.
    void schedule_all(const Cpu &cpu, Func y, const std::vector<Func> &of_blocks, const std::vector<Func> &of_channels, const std::vector<Func> &outputs) {
        const int v = cpu.lanes;
        const Tail guard = Tail::GuardWithIf;
        Var vec("vec"), lane("lane"), task("task"), line("line");
        y.compute_root();
        if (planes) {
            y.reorder(s, n, c).parallel(c).split(s, vec, lane, v, guard).vectorize(lane);
            Func before = y;
            for (Func f : outputs) f.compute_root().parallel(c).compute_with(before, c), before = f;
            for (Func f : of_channels) f.compute_at(y, c);
            for (Func f : of_blocks) {
                f.compute_at(y, c);
                if (f.has_update_definition()) reduce_in_lanes(f, k, b, v);
            }
            return;
        }
        y.split(c, vec, lane, v, guard).vectorize(lane).split(n, task, line, max(1, task_elements / max(1, size("c"))), guard).parallel(task);
        for (Func f : outputs) f.compute_root().vectorize(c, v, guard);
        for (Func f : of_channels) {
            f.compute_root().vectorize(c, v, guard);
            if (!f.has_update_definition()) continue;
            RVar runs, run;  // of blocks: one after another, 1568 lost a digit
            Func part = f.update().split(all, runs, run, block_run, guard).rfactor(runs, g);
            part.compute_root().vectorize(c, v, guard).update().reorder(c, run).vectorize(c, v, guard);
            f.update().reorder(c, runs).vectorize(c, v, guard);
        }
        for (Func f : of_blocks) {
            if (f.name() == of_blocks.back().name()) f.compute_root().parallel(b);
            else f.compute_at(of_blocks.back(), b);
            f.vectorize(c, v, guard);
            if (f.has_update_definition()) f.update().reorder(c, k).vectorize(c, v, guard);
        }
    }
    // For references: visit(place) for every element of a channel.
    template<class F> void each(const Problem &p, int64_t channel, F visit) const {
        if (planes)
            for (int64_t i = 0; i < p["n"]; i++)
                for (int64_t j = 0; j < p["s"]; j++) visit((size_t)((i * p["c"] + channel) * p["s"] + j));
        else
            for (int64_t i = 0; i < p["r"]; i++) visit((size_t)(i * p["c"] + channel));
    }
};

// y = (x - mean) / sqrt(variance + epsilon) gamma + beta. The mean is mean + rest, the variance the biased one.
struct BatchNormForward : BatchNorm {
    explicit BatchNormForward(bool in_planes) : BatchNorm(in_planes, "", "x@ gamma:U[c] beta:U[c] -> y@ mean:U[c] rest:U[c] variance:U[c]") {
        contract = {Contract::products, 5};
    }
    Func x = input("x"), gamma = input("gamma"), beta = input("beta"), y = output("y");
    Func mean = output("mean"), rest = output("rest"), variance = output("variance");
    Func block_sum{"block_sum"}, block_mean{"block_mean"}, block_sums{"block_sums"}, of_block{"of_block"};
    Func total{"total"}, middle{"middle"}, sums{"sums"}, left{"left"}, nearest{"nearest"}, spread{"spread"}, scale{"scale"}, shift{"shift"};

    void algorithm() override {
        domains();
        block_sum(c, b) += in_block(x);
        block_mean(c, b) = block_sum(c, b) / count_of(b);
        const Expr d = strict_float(in_block(x) - block_mean(c, b));
        block_sums(c, b) = Tuple(0_r, 0_r);
        block_sums(c, b) = Tuple(block_sums(c, b)[0] + d, block_sums(c, b)[1] + d * d);
        of_block(c, b) = Tuple(block_mean(c, b), block_sums(c, b)[0], block_sums(c, b)[1]);

        total(c) += of_block(c, all)[0] * count_of(all);
        middle(c) = total(c) / count();
        // Deviations from `middle` are those from the block's own mean and `off`.
        const Expr off = strict_float(of_block(c, all)[0] - middle(c)), deviations = of_block(c, all)[1];
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + (deviations + off * count_of(all)), sums(c)[1] + (of_block(c, all)[2] + off * (2_r * deviations + off * count_of(all))));
        left(c) = sums(c)[0] / count();
        spread(c) = max(sums(c)[1] / count() - left(c) * left(c), 0_r);
        scale(c) = 1_r / sqrt(spread(c) + eps);
        shift(c) = left(c) * scale(c);
        const std::vector<Var> at = full();
        y(at) = (strict_float(x(at) - middle(c)) * scale(c) - shift(c)) * gamma(c) + beta(c);
        nearest(c) = middle(c) + left(c);
        mean(c) = nearest(c), rest(c) = strict_float(middle(c) - nearest(c)) + left(c), variance(c) = spread(c);
    }
    void schedule(const Cpu &cpu) override {
        schedule_all(cpu, y, {block_sum, block_mean, block_sums, of_block}, {total, middle, sums, left, nearest, spread, scale, shift}, {mean, rest, variance});
    }
    void reference(Problem &p) const override {
        for (auto &t : sig.outputs) p.magnitude[t.name] = p(t.name);
        for (int64_t i = 0; i < p["c"]; i++) {
            long double sum = 0, squares = 0;  // a double's own error would show beside f64's
            double count = 0, size = 0, most = 0;
            each(p, i, [&](size_t at) { count++, sum += p("x").v[at], size += std::fabs(p("x").v[at]); });
            const long double middle = sum / count;
            each(p, i, [&](size_t at) {
                const long double d = p("x").v[at] - middle;
                squares += d * d, most = std::fmax(most, std::fabs((double)d));
            });
            const double lost = size < 1e38 && squares < 1e37 ? 0 : INFINITY;  // where f32 overflows
            const double spread = (double)squares / count, scale = 1 / std::sqrt(spread + p.real("epsilon")), gain = p("gamma")(i), offset = p("beta")(i);
            each(p, i, [&](size_t at) {
                p("y").v[at] = (double)(p("x").v[at] - middle) * scale * gain + offset;
                p.magnitude["y"].v[at] = std::fabs(most * scale * gain) + std::fabs(offset) + lost;
            });
            p("mean")(i) = (double)middle, p("rest")(i) = (double)(middle - middle), p("variance")(i) = spread;
            p.magnitude["mean"](i) = p.magnitude["rest"](i) = size / count + lost, p.magnitude["variance"](i) = spread + lost;
        }
    }
};

// dx = gamma / sqrt(variance + epsilon) (dy - mean dy - normal mean(dy normal)), dgamma = sum dy normal, dbeta = sum dy, where normal is
// x - mean - rest over the root.
struct BatchNormDx : BatchNorm {
    explicit BatchNormDx(bool in_planes) : BatchNorm(in_planes, "_dx", "x@ gamma:U[c] mean:U[c] rest:U[c] variance:U[c] dy@ -> dx@ dgamma:U[c] dbeta:U[c]") {
        contract = {Contract::products, 16};
        let("variance_least", "1");
    }
    Func x = input("x"), gamma = input("gamma"), mean = input("mean"), rest = input("rest"), variance = input("variance"), dy = input("dy");
    Func dx = output("dx"), dgamma = output("dgamma"), dbeta = output("dbeta");
    Func block_sums{"block_sums"}, of_block{"of_block"}, sums{"sums"}, scale{"scale"}, shift{"shift"}, slope{"slope"}, bias{"bias"};

    void algorithm() override {
        domains();
        scale(c) = 1_r / sqrt(variance(c) + eps);
        shift(c) = rest(c) * scale(c);
        auto normal = [&](const Expr &element) { return strict_float(element - mean(c)) * scale(c) - shift(c); };
        block_sums(c, b) = Tuple(0_r, 0_r);
        block_sums(c, b) = Tuple(block_sums(c, b)[0] + in_block(dy), block_sums(c, b)[1] + in_block(dy) * normal(in_block(x)));
        of_block(c, b) = Tuple(block_sums(c, b)[0], block_sums(c, b)[1]);
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + of_block(c, all)[0], sums(c)[1] + of_block(c, all)[1]);
        bias(c) = sums(c)[0] / count(), slope(c) = sums(c)[1] / count();
        const std::vector<Var> at = full();
        dx(at) = gamma(c) * scale(c) * ((dy(at) - bias(c)) - normal(x(at)) * slope(c));
        dgamma(c) = sums(c)[1], dbeta(c) = sums(c)[0];
    }
    void schedule(const Cpu &cpu) override { schedule_all(cpu, dx, {block_sums, of_block}, {scale, shift, sums, bias, slope}, {dgamma, dbeta}); }
    void reference(Problem &p) const override {
        for (auto &t : sig.outputs) p.magnitude[t.name] = p(t.name);
        for (int64_t i = 0; i < p["c"]; i++) {
            const double middle = p("mean")(i), left = p("rest")(i), scale = 1 / std::sqrt(p("variance")(i) + p.real("epsilon")), gain = p("gamma")(i);
            double count = 0, sum = 0, dot = 0, sum_size = 0, dot_size = 0;
            auto normal = [&](size_t at) { return (p("x").v[at] - middle - left) * scale; };
            auto size_of = [&](size_t at) { return (std::fabs(p("x").v[at] - middle) + std::fabs(left)) * scale; };
            each(p, i, [&](size_t at) {
                const double d = p("dy").v[at];
                count++, sum += d, sum_size += std::fabs(d), dot += d * normal(at), dot_size += std::fabs(d) * size_of(at);
            });
            const double lost = sum_size < 1e38 && dot_size < 1e38 ? 0 : INFINITY;  // where f32 overflows
            each(p, i, [&](size_t at) {
                const double d = p("dy").v[at];
                p("dx").v[at] = gain * scale * (d - sum / count - normal(at) * dot / count);
                p.magnitude["dx"].v[at] = std::fabs(gain * scale) * (std::fabs(d) + sum_size / count + size_of(at) * dot_size / count) + lost;
            });
            p("dgamma")(i) = dot, p("dbeta")(i) = sum;
            p.magnitude["dgamma"](i) = dot_size + lost, p.magnitude["dbeta"](i) = sum_size + lost;
        }
    }
};

}  // namespace

HALYARD_OPS {
    for (const bool planes : {true, false}) {
        ops.add<BatchNormForward>(planes);
        ops.add<BatchNormDx>(planes);
    }
}

}  // namespace halyard
