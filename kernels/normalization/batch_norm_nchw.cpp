// batch_norm's kernels for planes[n,c,s], without an epilogue and with those of residual networks:
// relu, or the addition of a shortcut and relu.
//
// A task is a channel. It reads the channel three times, while it is in the cache: to sum it, to
// sum its deviations from the mean, and to compute the output.
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

constexpr int accumulators = Rows::accumulators, planes_per_run = 32;

enum class Epilogue { none, relu, add_relu };
std::string name_with(const char *op, Epilogue a) {
    return std::string(op) + (a == Epilogue::relu       ? "_relu"
                              : a == Epilogue::add_relu ? "_add_relu"
                                                        : "");
}

// Sums f's update over k, the elements of a channel, in vectors of partial results: for each plane,
// for runs of planes, for the channel. These are folded by halves at last. Without the runs the sum
// over hundreds of planes, one after another, would lose a digit.
void sum_in_lanes(Func f, const RDom &k, const Func &y, const Var &at, int lanes) {
    const Tail guard = Tail::GuardWithIf;
    const int all = accumulators * lanes;
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
    f.update().split(k.x, ko, ki, all, guard).split(k.y, no, ni, planes_per_run, guard);
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

// Schedules y and the other `outputs` in one parallel loop over channels, and the Funcs of a
// channel in that loop.
void schedule_by_channels(const Cpu &cpu, Func y, const RDom &k,
                          const std::vector<Func> &of_channels, const std::vector<Func> &outputs) {
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
    Func previous = y;
    for (Func f : outputs) {
        const bool full = f.dimensions() == 3;
        if (full) loops(f);
        f.compute_root().parallel(c).compute_with(previous, full ? vec : c);
        previous = f;
    }
    for (Func f : of_channels) {
        // Without the bound, the fused loops would require a range of channels.
        f.compute_at(y, c).bound_extent(f.args()[0], 1);
        if (f.has_update_definition()) sum_in_lanes(f, k, y, c, cpu.lanes);
    }
}

struct PlanesForward : BatchNormForward {
    const Epilogue after;
    explicit PlanesForward(Epilogue a)
        : BatchNormForward(true, name_with("batch_norm", a) + "_planes",
                           std::string("x@ gamma:U[c] beta:U[c]") +
                               (a == Epilogue::add_relu ? " z@" : "") +
                               " -> y@ mean:U[c] rest:U[c] variance:U[c]"),
          after(a) {
        if (after != Epilogue::none) dtypes = {"f32,f32"};
    }
    Func z = after == Epilogue::add_relu ? input("z") : Func();
    Func total{"total"}, rounded_mean{"middle"}, sums{"sums"}, residual{"left"},
        nearest_mean{"nearest"}, channel_variance{"spread"}, scale{"slope"}, offset{"offset"};
    RDom k;

    void algorithm() override {
        k = RDom(0, size("s"), 0, size("n"));
        total(c) += x(k.x, c, k.y);
        rounded_mean(c) = total(c) / count();
        const Expr d = strict_float(x(k.x, c, k.y) - rounded_mean(c));
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + d, sums(c)[1] + d * d);
        residual(c) = sums(c)[0] / count();
        channel_variance(c) = max(sums(c)[1] / count() - residual(c) * residual(c), 0_r);
        scale(c) = gamma(c) / sqrt(channel_variance(c) + eps);
        offset(c) = beta(c) - residual(c) * scale(c);
        Expr value = strict_float(x(s, c, n) - rounded_mean(c)) * scale(c) + offset(c);
        if (after == Epilogue::add_relu) value += z(s, c, n);
        // max would lose a NaN.
        y(s, c, n) = after == Epilogue::none ? value : select(value < 0_r, 0_r, value);
        nearest_mean(c) = rounded_mean(c) + residual(c);
        mean(c) = nearest_mean(c);
        compensation(c) = strict_float(rounded_mean(c) - nearest_mean(c)) + residual(c);
        variance(c) = channel_variance(c);
    }
    void schedule(const Cpu &cpu) override {
        schedule_by_channels(
            cpu, y, k,
            {total, rounded_mean, sums, residual, nearest_mean, channel_variance, scale, offset},
            {mean, compensation, variance});
    }
    double epilogue(Problem &p, double value, size_t at) const override {
        if (after == Epilogue::add_relu) value += p("z").v[at];
        return after != Epilogue::none && value < 0 ? 0 : value;
    }
    void reference(Problem &p) const override {
        BatchNormForward::reference(p);
        for (size_t i = 0; after == Epilogue::add_relu && i < p("z").v.size(); i++)
            p.abs_sum["y"].v[i] += std::fabs(p("z").v[i]);
    }
};

struct PlanesDx : BatchNormDx {
    const Epilogue after;
    explicit PlanesDx(Epilogue a)
        : BatchNormDx(true, name_with("batch_norm", a) + "_planes_dx",
                      std::string("x@ gamma:U[c] mean:U[c] rest:U[c] variance:U[c]") +
                          (a == Epilogue::none ? "" : " y@") + " dy@ -> dx@ " +
                          (a == Epilogue::add_relu ? "dz@ " : "") + "dgamma:U[c] dbeta:U[c]"),
          after(a) {
        if (after != Epilogue::none) dtypes = {"f32,f32"};
    }
    Func y = after == Epilogue::none ? Func() : input("y");
    Func dy = input("dy");
    Func dx = output("dx");
    Func dz = after == Epilogue::add_relu ? output("dz") : Func();
    Func dgamma = output("dgamma"), dbeta = output("dbeta");
    Func sums{"sums"}, scale{"scale"}, gain{"shift"}, dgamma_sum{"slope"}, projection{"steep"},
        mean_dy{"level"};
    RDom k;

    // The gradient with respect to the norm's own result, at pixel `at` of image `in`.
    Expr norm_dy(const Expr &at, const Expr &in) const {
        return after == Epilogue::none ? dy(at, c, in)
                                       : select(y(at, c, in) > 0_r, dy(at, c, in), 0_r);
    }
    Expr deviation(const Expr &at, const Expr &in) const {
        return strict_float(x(at, c, in) - mean(c)) - compensation(c);
    }
    void algorithm() override {
        k = RDom(0, size("s"), 0, size("n"));
        const Expr d = norm_dy(k.x, k.y);
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + d, sums(c)[1] + d * deviation(k.x, k.y));
        scale(c) = 1_r / sqrt(variance(c) + eps);
        dgamma_sum(c) = sums(c)[1] * scale(c);
        gain(c) = gamma(c) * scale(c);
        projection(c) = dgamma_sum(c) / count() * scale(c);
        mean_dy(c) = sums(c)[0] / count();
        dx(s, c, n) = gain(c) * ((norm_dy(s, n) - mean_dy(c)) - deviation(s, n) * projection(c));
        if (after == Epilogue::add_relu) dz(s, c, n) = norm_dy(s, n);
        dgamma(c) = dgamma_sum(c);
        dbeta(c) = sums(c)[0];
    }
    void schedule(const Cpu &cpu) override {
        const std::vector<Func> sums_alone = {dgamma, dbeta};
        const std::vector<Func> with_dz = {dz, dgamma, dbeta};
        schedule_by_channels(cpu, dx, k, {sums, scale, dgamma_sum, gain, projection, mean_dy},
                             after == Epilogue::add_relu ? with_dz : sums_alone);
    }
    double epilogue_gradient(Problem &p, size_t at) const override {
        return after == Epilogue::none || p("y").v[at] > 0 ? p("dy").v[at] : 0;
    }
    void reference(Problem &p) const override {
        BatchNormDx::reference(p);
        for (size_t i = 0; after == Epilogue::add_relu && i < p("dy").v.size(); i++)
            p("dz").v[i] = epilogue_gradient(p, i);
    }
};

}  // namespace

HALYARD_OPS {
    for (const Epilogue after : {Epilogue::none, Epilogue::relu, Epilogue::add_relu}) {
        ops.add<PlanesForward>(after);
        ops.add<PlanesDx>(after);
    }
}

}  // namespace halyard
