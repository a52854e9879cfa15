// Scaled dot-product attention, computed for a block of queries at a time, whose scores stay in the
// cache. Its gradient is composed of products and softmax:
// primitives/composites/contraction/attention.cpp.
#include <cmath>

#include "dsl/op.h"
#include "dsl/reference_math.h"

namespace halyard {
namespace {

using Halide::Expr;

// A task has so many blocks of queries; it transposes k once.
constexpr int task_blocks = 32;
// Keys whose scores schedule_rows() computes at the same time.
constexpr int keys_at_once = 4;

// o = softmax(scale q k^T + mask) v. A mask of a single 0, broadcast with stride 0, costs nothing.
struct AttentionKernel : Op {
    AttentionKernel()
        : Op("attention_kernel", "q[..g,s,d] k[..g,t,d] v[..g,t,e] mask[..g,s,t] -> o[..g,s,e]") {
        internal = any_strides = true;
        attr("causal", 0);
        // The index of the first query in the sequence, if the call computes only some queries.
        attr("from", 0);
        contract = {Contract::products, 16};  // of two sums over the keys
        const DimExpr fits = Dim("s") >= tile_rows && Dim("t") >= tile_keys * lanes &&
                             Dim("e") >= tile_cols * lanes && stride(q) == 1 && stride(v) == 1;
        add({"wide", fits, {.schedule = [this](const Cpu &cpu) {
                 schedule_tiles(cpu, cpu.has_32_registers() ? 4 : 2);
             }}});
        add({"half", fits, {.schedule = [this](const Cpu &cpu) { schedule_tiles(cpu, 1); }}});
        add({"rows",
             Dim("s") < 8 && Dim("t") >= keys_at_once && stride(q) == 1 && stride(k) == 1 &&
                 stride(v) == 1,
             {.schedule = [this](const Cpu &cpu) { schedule_rows(cpu); }}});
        add({"any", DimExpr::always(), {.schedule = [this](const Cpu &cpu) {
                 schedule_any(cpu);
             }}});
        samples = {"g=1 s=1 t=1 d=1 e=1",
                   "g=2 s=3 t=5 d=7 e=9",
                   "g=2 s=13 t=67 d=17 e=65",
                   "g=3 s=2 t=150 d=70 e=65 causal=1 from=100",
                   "g=1 s=1 t=35 d=16 e=3",
                   "g=1 s=31 t=129 d=8 e=33 causal=1",
                   "g=2 s=199 t=70 d=5 e=64 causal=1 from=-60"};
        bench = {"g=12 s=512 t=512 d=64 e=64", "g=12 s=512 t=512 d=64 e=64 causal=1"};
    }
    static inline const Tunable tile_rows{"rows"}, tile_cols{"cols"}, tile_keys{"keys"};
    Func q = input("q"), k = input("k"), v = input("v"), mask = input("mask");
    Func o = output("o");
    Func scaled_q{"ready"}, transposed_k{"turned"}, dots{"dots"}, score{"score"}, row_max{"peak"},
        weight{"weight"}, total{"total"}, inverse{"inverse"}, mix{"mix"};
    Expr scale = scalar("scale", 1.0);
    Expr causal = derived("is_causal", "causal"), from = derived("first", "from");
    Var x{"x"}, s{"s"}, t{"t"}, g{"g"}, u{"u"};
    RDom along, keys;
    RVar ko{"ko"}, ki{"ki"};

    void algorithm() override {
        along = RDom(0, size("d"));
        keys = RDom(0, size("t"));
        scaled_q(x, s, g) = q(x, s, g) * scale;
        transposed_k(t, x, g) = k(x, t, g);
        dots(t, s, g) += scaled_q(along, s, g) * transposed_k(t, along, g);
        score(t, s, g) = select(causal != 0 && t > s + from, math::lowest(),
                                dots(t, s, g) + mask(t, s, g));
        row_max(s, g) = math::lowest();
        row_max(s, g) = max(row_max(s, g), score(keys, s, g));
        // All weights of a query that attends to no key are 0.
        const Expr shift = select(row_max(s, g) == math::lowest(), 0_r, row_max(s, g));
        weight(t, s, g) = math::exp_nonpositive(score(t, s, g) - shift);
        total(s, g) += weight(keys, s, g);
        mix(x, s, g) += weight(keys, s, g) * v(x, keys, g);
        inverse(s, g) = select(total(s, g) == 0_r, 0_r, 1_r / total(s, g));
        o(x, s, g) = mix(x, s, g) * inverse(s, g);
    }

    // A tile of the output is `rows` queries by `cols` vectors of v's columns. It needs the weights
    // of its queries, which are computed for all keys first: scores (in tiles of keys), their
    // maxima, their exponentials, the sums. All of that stays in L2, because it is for one block of
    // queries only. k is transposed once per task.
    void schedule_tiles(const Cpu &cpu, int default_cols) {
        if (fused()) return schedule_any(cpu);
        const bool registers32 = cpu.has_32_registers();
        const int rows = cpu.pick(tile_rows, {registers32 ? 6 : 4});
        const int cols = cpu.pick(tile_cols, {default_cols});
        const int key_vectors = cpu.pick(tile_keys, {registers32 ? 4 : 2});
        promise_layout();

        Func out = store();
        Var xo, xi, so, si, strip, to, ti, vec, lane;
        out.split(var(0), xo, xi, cols * cpu.lanes, Tail::ShiftInwards)
            .split(var(1), so, si, rows, Tail::ShiftInwards);
        out.split(so, strip, so, task_blocks, Tail::GuardWithIf)
            .reorder(xi, si, xo, so, strip, var(2))
            .vectorize(xi, cpu.lanes)
            .unroll(xi)
            .unroll(si);
        out.parallel(var(2)).parallel(strip);

        keep_mix_in_registers(cpu, xo, cols, rows);
        inverse.compute_at(out, so);
        for (Func f : {row_max, total})
            reduce_in_vectors(cpu, f, so);
        weight.compute_at(out, so)
            .bound_extent(s, rows)
            .split(t, vec, lane, cpu.lanes, Tail::ShiftInwards)
            .vectorize(lane);
        score.compute_at(out, so)
            .bound_extent(s, rows)
            .split(t, to, ti, key_vectors * cpu.lanes, Tail::ShiftInwards)
            .reorder(ti, s, to);
        score.vectorize(ti, cpu.lanes).unroll(ti).unroll(s);
        // A mask of one element, the usual case, is broadcast.
        for (int stride : {0, 1})
            score.specialize(memory[3].dim(0).stride() == stride);
        dots.compute_at(score, to)
            .bound_extent(t, key_vectors * cpu.lanes)
            .bound_extent(s, rows)
            .vectorize(t, cpu.lanes)
            .unroll(t)
            .unroll(s);
        dots.update().reorder(t, s, along).vectorize(t, cpu.lanes).unroll(t).unroll(s);
        scaled_q.compute_at(out, so).vectorize(x, cpu.lanes, Tail::GuardWithIf);
        transposed_k.compute_at(out, strip);
        Var tx, ty;
        transposed_k.split(t, to, ti, cpu.lanes, Tail::ShiftInwards).vectorize(ti);
    }
    // All tensors begin at 0; q, v and o are contiguous along their last dimension.
    void promise_layout() {
        for (auto &tensor : memory) {
            for (int d = 0; d < 3; d++)
                tensor.dim(d).set_min(0);
        }
        for (int d = 0; d < 3; d++)
            store().output_buffer().dim(d).set_min(0);
        memory[0].dim(0).set_stride(1);
        memory[2].dim(0).set_stride(1);
        store().output_buffer().dim(0).set_stride(1);
    }
    // The products of weights and values of a tile, in blocks of 256 keys, which bounds the error.
    void keep_mix_in_registers(const Cpu &cpu, const Var &at, int cols, int rows) {
        Func block_mix = mix.update().split(keys, ko, ki, 256, Tail::GuardWithIf).rfactor(ko, u);
        for (Func f : {mix, block_mix}) {
            f.bound_extent(x, cols * cpu.lanes)
                .bound_extent(s, rows)
                .vectorize(x, cpu.lanes)
                .unroll(x)
                .unroll(s);
        }
        mix.compute_at(store(), at)
            .update()
            .reorder(x, s, ko)
            .vectorize(x, cpu.lanes)
            .unroll(x)
            .unroll(s);
        block_mix.compute_at(mix, ko)
            .reorder_storage(x, s, g, u)
            .update()
            .reorder(x, s, ki)
            .vectorize(x, cpu.lanes)
            .unroll(x)
            .unroll(s);
    }
    // Reduces over the keys in four vectors of partial results, whose lanes are then added in turn.
    void reduce_in_vectors(const Cpu &cpu, Func f, const Var &at) {
        RVar r, l;
        Func partial = f.update().split(keys, r, l, 4 * cpu.lanes, Tail::GuardWithIf).rfactor(l, u);
        f.compute_at(store(), at);
        partial.compute_at(f, s)
            .vectorize(u, cpu.lanes)
            .unroll(u)
            .update()
            .reorder(u, r)
            .vectorize(u, cpu.lanes)
            .unroll(u);
    }
    // Few queries, as when a sequence is extended by a token: k and v are read once, where they
    // are, and each score is a product of rows.
    void schedule_rows(const Cpu &cpu) {
        if (fused()) return schedule_any(cpu);
        promise_layout();
        memory[1].dim(0).set_stride(1);
        Func out = store();
        Var to, ti, xo, xi, lane;
        RVar d_vector, d_lane;
        const Var query = var(1);
        out.vectorize(var(0), cpu.lanes, Tail::GuardWithIf).parallel(query).parallel(var(2));
        for (Func f : {row_max, total})
            reduce_in_vectors(cpu, f, query);
        inverse.compute_at(out, query);
        for (Func f : {scaled_q, weight})
            f.compute_at(out, query).vectorize(f.args()[0], cpu.lanes, Tail::GuardWithIf);
        score.compute_at(out, query)
            .split(t, to, ti, keys_at_once, Tail::ShiftInwards)
            .vectorize(ti);
        Func partial = dots.update()
                           .split(along, d_vector, d_lane, cpu.lanes, Tail::GuardWithIf)
                           .rfactor(d_lane, lane);
        for (Func f : {dots, partial})
            f.compute_at(score, to).bound_extent(t, keys_at_once).unroll(t);
        dots.update().reorder(d_lane, t).atomic().vectorize(d_lane).unroll(t);
        partial.bound_extent(lane, cpu.lanes).reorder_storage(lane, t, s, g).vectorize(lane);
        partial.update().reorder(lane, t, d_vector).vectorize(lane).unroll(t);
        mix_in_blocks(cpu);
    }
    // The products of weights and values of a query, in blocks of 256 keys, which bounds the error.
    void mix_in_blocks(const Cpu &cpu) {
        Func block_mix = mix.update().split(keys, ko, ki, 256, Tail::GuardWithIf).rfactor(ko, u);
        mix.compute_at(store(), var(1)).vectorize(x, cpu.lanes, Tail::GuardWithIf);
        mix.update().reorder(x, ko).vectorize(x, cpu.lanes, Tail::GuardWithIf);
        block_mix.compute_at(mix, ko).vectorize(x, cpu.lanes, Tail::GuardWithIf);
        block_mix.update().reorder(x, ki).vectorize(x, cpu.lanes, Tail::GuardWithIf);
    }
    // Takes every shape and stride: one query at a time, with guarded vectors.
    void schedule_any(const Cpu &cpu) {
        Func out = store();
        out.vectorize(var(0), cpu.lanes, Tail::GuardWithIf).parallel(var(2));
        transposed_k.compute_at(out, var(2));
        for (Func f : {mix, weight, score, dots})
            f.compute_at(out, var(1)).vectorize(f.args()[0], cpu.lanes, Tail::GuardWithIf);
        mix.update().reorder(x, keys, s, g).vectorize(x, cpu.lanes, Tail::GuardWithIf);
        dots.update().reorder(t, along, s, g).vectorize(t, cpu.lanes, Tail::GuardWithIf);
        for (Func f : {row_max, total, inverse})
            f.compute_at(out, var(1));
        scaled_q.compute_at(out, var(1));
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
