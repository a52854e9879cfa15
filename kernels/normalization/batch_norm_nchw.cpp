// batch_norm's kernels for planes[n,c,s]: alone, and with what follows it in residual networks,
// relu or a shortcut and relu.
//
// A task is a channel, which is summed, summed again as deviations from its mean, and computed,
// while it is in cache.
#include "kernels/normalization/batch_norm.h"
#include "kernels/rowwise/rows.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::RVar;
using Halide::strict_float;
using Halide::Tuple;
using Halide::Var;
using Tail = Halide::TailStrategy;

constexpr int chains = 4, run_of_planes = 32;

enum class After { nothing, relu, add_relu };
std::string named(const char *what, After a) {
    return std::string(what) + (a == After::relu       ? "_relu"
                                : a == After::add_relu ? "_add_relu"
                                                       : "");
}

// f's update over k, all of a channel's elements: vectors of partial results for a plane, of these
// for runs of planes (one after another, 357 lost a digit) and for the channel, which are folded by
// halves at last.
void sum_in_lanes(Func f, const RDom &k, const Func &y, const Var &at, int lanes) {
    const Tail guard = Tail::GuardWithIf;
    const int all = chains * lanes;
    Var u("u"), b("b"), g("g");
    Var c = f.args()[0];
    RVar ko, ki, no, ni, half;
    const auto in_vectors = [&](Func &part, const RVar &over) {
        part.bound_extent(c, 1)
            .bound_extent(u, all)
            .vectorize(u, lanes)
            .unroll(u)
            .update()
            .reorder(u, over)
            .vectorize(u, lanes)
            .unroll(u);
    };
    f.update().split(k.x, ko, ki, all, guard).split(k.y, no, ni, run_of_planes, guard);
    Func plane = f.update().rfactor({{ki, u}, {ni, b}, {no, g}});
    Func run = f.update().rfactor({{ki, u}, {no, g}});
    Func channel = f.update().rfactor(ki, u);
    in_vectors(channel.compute_at(y, at), no);
    in_vectors(run.compute_at(channel, no), ni);
    in_vectors(plane.compute_at(run, ni), ko);
    for (int w = all / 2; w >= 4; w /= 2) {
        RVar next;
        Func fold = f.update().split(ki, half, next, w, guard).rfactor(next, u);
        fold.compute_at(y, at)
            .bound_extent(c, 1)
            .bound_extent(u, w)
            .vectorize(u, std::min(lanes, w))
            .unroll(u);
        fold.update().reorder(u, half).vectorize(u, std::min(lanes, w)).unroll(u).unroll(half);
        ki = next;
    }
    f.update().unroll(ki);
}

// `outputs` share y's loop over channels.
void by_channels(const Cpu &cpu, Func y, const RDom &k, const std::vector<Func> &of_channels,
                 const std::vector<Func> &outputs) {
    const Var s = y.args()[0];
    const Var c = y.args()[1];
    const Var n = y.args()[2];
    Var vec("vec"), lane("lane");
    const auto loops = [&](Func f) {
        f.split(s, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .reorder(lane, vec, n, c)
            .vectorize(lane);
    };
    loops(y.compute_root());
    y.parallel(c);
    Func before = y;
    for (Func f : outputs) {
        const bool full = f.dimensions() == 3;
        if (full) loops(f);
        f.compute_root().parallel(c).compute_with(before, full ? vec : c);
        before = f;
    }
    for (Func f : of_channels) {
        // the loops that share y's would be asked for a range of channels
        f.compute_at(y, c).bound_extent(f.args()[0], 1);
        if (f.has_update_definition()) sum_in_lanes(f, k, y, c, cpu.lanes);
    }
}

struct PlanesForward : BatchNormForward {
    const After after;
    explicit PlanesForward(After a)
        : BatchNormForward(true, named("batch_norm", a) + "_planes",
                           std::string("x@ gamma:U[c] beta:U[c]") +
                               (a == After::add_relu ? " z@" : "") +
                               " -> y@ mean:U[c] rest:U[c] variance:U[c]"),
          after(a) {
        if (after != After::nothing) dtypes = {"f32,f32"};
    }
    Func z = after == After::add_relu ? input("z") : Func();
    Func total{"total"}, middle{"middle"}, sums{"sums"}, left{"left"}, nearest{"nearest"},
        spread{"spread"}, slope{"slope"}, offset{"offset"};
    RDom k;

    void algorithm() override {
        k = RDom(0, size("s"), 0, size("n"));
        total(c) += x(k.x, c, k.y);
        middle(c) = total(c) / count();
        const Expr d = strict_float(x(k.x, c, k.y) - middle(c));
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + d, sums(c)[1] + d * d);
        left(c) = sums(c)[0] / count();
        spread(c) = max(sums(c)[1] / count() - left(c) * left(c), 0_r);
        slope(c) = gamma(c) / sqrt(spread(c) + eps);
        offset(c) = beta(c) - left(c) * slope(c);
        Expr value = strict_float(x(s, c, n) - middle(c)) * slope(c) + offset(c);
        if (after == After::add_relu) value += z(s, c, n);
        // NaN stays
        y(s, c, n) = after == After::nothing ? value : select(value < 0_r, 0_r, value);
        nearest(c) = middle(c) + left(c);
        mean(c) = nearest(c);
        rest(c) = strict_float(middle(c) - nearest(c)) + left(c);
        variance(c) = spread(c);
    }
    void schedule(const Cpu &cpu) override {
        by_channels(cpu, y, k, {total, middle, sums, left, nearest, spread, slope, offset},
                    {mean, rest, variance});
    }
    double followed(Problem &p, double value, size_t at) const override {
        if (after == After::add_relu) value += p("z").v[at];
        return after != After::nothing && value < 0 ? 0 : value;
    }
    void reference(Problem &p) const override {
        BatchNormForward::reference(p);
        for (size_t i = 0; after == After::add_relu && i < p("z").v.size(); i++)
            p.abs_sum["y"].v[i] += std::fabs(p("z").v[i]);
    }
};

struct PlanesDx : BatchNormDx {
    const After after;
    explicit PlanesDx(After a)
        : BatchNormDx(true, named("batch_norm", a) + "_planes_dx",
                      std::string("x@ gamma:U[c] mean:U[c] rest:U[c] variance:U[c]") +
                          (a == After::nothing ? "" : " y@") + " dy@ -> dx@ " +
                          (a == After::add_relu ? "dz@ " : "") + "dgamma:U[c] dbeta:U[c]"),
          after(a) {
        if (after != After::nothing) dtypes = {"f32,f32"};
    }
    Func y = after == After::nothing ? Func() : input("y");
    Func dy = input("dy");
    Func dx = output("dx");
    Func dz = after == After::add_relu ? output("dz") : Func();
    Func dgamma = output("dgamma"), dbeta = output("dbeta");
    Func sums{"sums"}, scale{"scale"}, shift{"shift"}, slope{"slope"}, steep{"steep"},
        level{"level"};
    RDom k;

    Expr given(const Expr &at, const Expr &in) const {
        return after == After::nothing ? dy(at, c, in)
                                       : select(y(at, c, in) > 0_r, dy(at, c, in), 0_r);
    }
    Expr off(const Expr &at, const Expr &in) const {
        return strict_float(x(at, c, in) - mean(c)) - rest(c);
    }
    void algorithm() override {
        k = RDom(0, size("s"), 0, size("n"));
        const Expr d = given(k.x, k.y);
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + d, sums(c)[1] + d * off(k.x, k.y));
        scale(c) = 1_r / sqrt(variance(c) + eps);
        slope(c) = sums(c)[1] * scale(c);  // dgamma
        shift(c) = gamma(c) * scale(c);
        steep(c) = slope(c) / count() * scale(c);
        level(c) = sums(c)[0] / count();
        dx(s, c, n) = shift(c) * ((given(s, n) - level(c)) - off(s, n) * steep(c));
        if (after == After::add_relu) dz(s, c, n) = given(s, n);
        dgamma(c) = slope(c);
        dbeta(c) = sums(c)[0];
    }
    void schedule(const Cpu &cpu) override {
        const std::vector<Func> sums_alone = {dgamma, dbeta};
        const std::vector<Func> with_dz = {dz, dgamma, dbeta};
        by_channels(cpu, dx, k, {sums, scale, slope, shift, steep, level},
                    after == After::add_relu ? with_dz : sums_alone);
    }
    double before(Problem &p, size_t at) const override {
        return after == After::nothing || p("y").v[at] > 0 ? p("dy").v[at] : 0;
    }
    void reference(Problem &p) const override {
        BatchNormDx::reference(p);
        for (size_t i = 0; after == After::add_relu && i < p("dy").v.size(); i++)
            p("dz").v[i] = before(p, i);
    }
};

}  // namespace

HALYARD_OPS {
    for (const After after : {After::nothing, After::relu, After::add_relu}) {
        ops.add<PlanesForward>(after);
        ops.add<PlanesDx>(after);
    }
}

}  // namespace halyard
