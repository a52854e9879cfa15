// Scaled dot-product attention: a block of queries at a time, whose scores stay in the cache. Its
// gradient is composed of products and softmax: primitives/composites/attention.cpp.
#include <cmath>

#include "dsl/op.h"
#include "dsl/reference_math.h"

namespace halyard {
namespace {

using Halide::Expr;

constexpr int task_blocks = 32;  // blocks of queries a task, which turns k once

// mask is added to the scores; a tensor of one 0 that is broadcast has stride 0 and costs nothing.
struct AttentionKernel : Op {
    AttentionKernel()
        : Op("attention_kernel", "q[..g,s,d] k[..g,t,d] v[..g,t,e] mask[..g,s,t] -> o[..g,s,e]") {
        internal = any_strides = true;
        attr("causal", 0);
        attr("from", 0);  // the first query's place among all queries, where these are some of them
        contract = {Contract::normwise, 40};
        variants = {{"wide", "s>=rows t>=keys*lanes e>=cols*lanes q_s0==1 v_s0==1"},
                    {"half", "s>=rows t>=keys*lanes e>=cols*lanes q_s0==1 v_s0==1"},
                    {"any", ""}};
        samples = {"g=1 s=1 t=1 d=1 e=1", "g=2 s=3 t=5 d=7 e=9", "g=2 s=13 t=67 d=17 e=65",
                   "g=1 s=31 t=129 d=8 e=33 causal=1", "g=2 s=199 t=70 d=5 e=64 causal=1 from=-60"};
        bench = {"g=12 s=512 t=512 d=64 e=64", "g=12 s=512 t=512 d=64 e=64 causal=1"};
    }
    Func q = input("q"), k = input("k"), v = input("v"), mask = input("mask");
    Func o = output("o");
    Func ready{"ready"}, turned{"turned"}, dots{"dots"}, score{"score"}, peak{"peak"},
        weight{"weight"}, total{"total"}, inverse{"inverse"}, mix{"mix"};
    Expr scale = scalar("scale", 1.0);
    Expr causal = derived("is_causal", "causal"), from = derived("first", "from");
    Var x{"x"}, s{"s"}, t{"t"}, g{"g"}, u{"u"};
    RDom along, keys;
    RVar ko{"ko"}, ki{"ki"};

    void algorithm() override {
        along = RDom(0, size("d"));
        keys = RDom(0, size("t"));
        ready(x, s, g) = q(x, s, g) * scale;
        turned(t, x, g) = k(x, t, g);
        dots(t, s, g) += ready(along, s, g) * turned(t, along, g);
        score(t, s, g) = select(causal != 0 && t > s + from, math::lowest(),
                                dots(t, s, g) + mask(t, s, g));
        peak(s, g) = math::lowest();
        peak(s, g) = max(peak(s, g), score(keys, s, g));
        // a query that sees no key weighs all by 0
        const Expr shift = select(peak(s, g) == math::lowest(), 0_r, peak(s, g));
        weight(t, s, g) = math::exp_nonpositive(score(t, s, g) - shift);
        total(s, g) += weight(keys, s, g);
        mix(x, s, g) += weight(keys, s, g) * v(x, keys, g);
        inverse(s, g) = select(total(s, g) == 0_r, 0_r, 1_r / total(s, g));
        o(x, s, g) = mix(x, s, g) * inverse(s, g);
    }

    void schedule(const Cpu &cpu) override {
        if (cpu.variant == "any" || fused()) return any(cpu);
        const bool registers32 = cpu.has_avx512();
        const int v_lanes = cpu.lanes;
        const int rows = cpu.pick("rows", {registers32 ? 6 : 4});
        const int cols = cpu.pick("cols", {cpu.variant == "half" ? 1 : registers32 ? 4 : 2});
        const int vectors = cpu.pick("keys", {registers32 ? 4 : 2});
        for (auto &m : memory) {
            for (int d = 0; d < 3; d++)
                m.dim(d).set_min(0);
        }
        for (int d = 0; d < 3; d++)
            store().output_buffer().dim(d).set_min(0);
        memory[0].dim(0).set_stride(1);
        memory[2].dim(0).set_stride(1);
        store().output_buffer().dim(0).set_stride(1);

        Func out = store();
        Var xo, xi, so, si, strip, to, ti, vec, lane;
        out.split(var(0), xo, xi, cols * v_lanes, Tail::ShiftInwards)
            .split(var(1), so, si, rows, Tail::ShiftInwards);
        out.split(so, strip, so, task_blocks, Tail::GuardWithIf)
            .reorder(xi, si, xo, so, strip, var(2))
            .vectorize(xi, v_lanes)
            .unroll(xi)
            .unroll(si);
        out.parallel(var(2)).parallel(strip);

        Func part = mix.update().split(keys, ko, ki, 256, Tail::GuardWithIf).rfactor(ko, u);
        for (Func f : {mix, part}) {
            f.bound_extent(x, cols * v_lanes)
                .bound_extent(s, rows)
                .vectorize(x, v_lanes)
                .unroll(x)
                .unroll(s);
        }
        mix.compute_at(out, xo)
            .update()
            .reorder(x, s, ko)
            .vectorize(x, v_lanes)
            .unroll(x)
            .unroll(s);
        part.compute_at(mix, ko)
            .reorder_storage(x, s, g, u)
            .update()
            .reorder(x, s, ki)
            .vectorize(x, v_lanes)
            .unroll(x)
            .unroll(s);

        inverse.compute_at(out, so);
        for (Func f : {peak, total}) {  // in four vectors, then in one lane after another
            RVar r, l;
            Func parts = f.update().split(keys, r, l, 4 * v_lanes, Tail::GuardWithIf).rfactor(l, u);
            f.compute_at(out, so);
            parts.compute_at(f, s)
                .vectorize(u, v_lanes)
                .unroll(u)
                .update()
                .reorder(u, r)
                .vectorize(u, v_lanes)
                .unroll(u);
        }
        weight.compute_at(out, so)
            .bound_extent(s, rows)
            .split(t, vec, lane, v_lanes, Tail::ShiftInwards)
            .vectorize(lane);
        score.compute_at(out, so)
            .bound_extent(s, rows)
            .split(t, to, ti, vectors * v_lanes, Tail::ShiftInwards)
            .reorder(ti, s, to);
        score.vectorize(ti, v_lanes).unroll(ti).unroll(s);
        for (int stride : {0, 1})
            score.specialize(memory[3].dim(0).stride() == stride);
        dots.compute_at(score, to)
            .bound_extent(t, vectors * v_lanes)
            .bound_extent(s, rows)
            .vectorize(t, v_lanes)
            .unroll(t)
            .unroll(s);
        dots.update().reorder(t, s, along).vectorize(t, v_lanes).unroll(t).unroll(s);
        ready.compute_at(out, so).vectorize(x, v_lanes, Tail::GuardWithIf);
        turned.compute_at(out, strip);
        Var tx, ty;
        turned.split(t, to, ti, v_lanes, Tail::ShiftInwards).vectorize(ti);
    }
    void any(const Cpu &cpu) {
        Func out = store();
        const int v_lanes = cpu.lanes;
        out.vectorize(var(0), v_lanes, Tail::GuardWithIf).parallel(var(2));
        turned.compute_at(out, var(2));
        for (Func f : {mix, weight, score, dots})
            f.compute_at(out, var(1)).vectorize(f.args()[0], v_lanes, Tail::GuardWithIf);
        mix.update().reorder(x, keys, s, g).vectorize(x, v_lanes, Tail::GuardWithIf);
        dots.update().reorder(t, along, s, g).vectorize(t, v_lanes, Tail::GuardWithIf);
        for (Func f : {peak, total, inverse})
            f.compute_at(out, var(1));
        ready.compute_at(out, var(1));
    }
    void reference(Problem &p) const override {
        const Array &m = p("mask");
        attend(
            p, "q", "k", "v", p["causal"], p["from"], p.real("scale"),
            [&](int64_t g, int64_t s, int64_t t) { return m(g, s, t); }, p("o"), p.abs_sum["o"]);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<AttentionKernel>();
}

}  // namespace halyard
