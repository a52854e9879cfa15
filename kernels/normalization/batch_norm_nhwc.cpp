// batch_norm's kernels where channels are last, [r,c].
//
// Statistics are those of blocks of `block_rows` rows, which are read twice while they are in
// cache, joined as Chan, Golub and LeVeque do
// ("Updating formulae and a pairwise algorithm for computing sample variances", 1979).
#include "kernels/normalization/batch_norm.h"

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

constexpr int block_rows = 64, block_run = 32, task_elements = 16384;

// A block's elements and the blocks of an op with channels last.
struct Blocks {
    Var b{"b"}, g{"g"};
    RDom k, all;
    Expr rows;

    void define(const Expr &r) {
        rows = r;
        k = RDom(0, block_rows);
        k.where(b * block_rows + k < rows);
        all = RDom(0, (rows + (block_rows - 1)) / block_rows);
    }
    Expr count_of(const Expr &block) const {
        return math::real(min(rows - block * block_rows, block_rows));
    }
    // element k of block b
    Expr in_block(const Func &x, const Var &c) const {
        return x(c, Halide::unsafe_promise_clamped(b * block_rows + k, 0, rows - 1));
    }

    // Blocks are summed at first, then lines of pixels computed. Vectors run along c.
    void schedule(const Cpu &cpu, Func y, const Expr &channels, const std::vector<Func> &of_blocks,
                  const std::vector<Func> &of_channels, const std::vector<Func> &outputs) const {
        const int v = cpu.lanes;
        const Tail guard = Tail::GuardWithIf;
        const Var c = y.args()[0];
        const Var n = y.args()[1];
        Var vec("vec"), lane("lane"), task("task"), line("line");
        y.compute_root()
            .split(c, vec, lane, v, guard)
            .vectorize(lane)
            .split(n, task, line, max(1, task_elements / max(1, channels)), guard)
            .parallel(task);
        for (Func f : outputs)
            f.compute_root().vectorize(c, v, guard);
        for (Func f : of_channels) {
            f.compute_root().vectorize(c, v, guard);
            if (!f.has_update_definition()) continue;
            RVar runs, run;  // of blocks: one after another, 1568 lost a digit
            Func part = f.update().split(all, runs, run, block_run, guard).rfactor(runs, g);
            part.compute_root()
                .vectorize(c, v, guard)
                .update()
                .reorder(c, run)
                .vectorize(c, v, guard);
            f.update().reorder(c, runs).vectorize(c, v, guard);
        }
        for (Func f : of_blocks) {
            if (f.name() == of_blocks.back().name())
                f.compute_root().parallel(b);
            else
                f.compute_at(of_blocks.back(), b);
            f.vectorize(c, v, guard);
            if (f.has_update_definition()) f.update().reorder(c, k).vectorize(c, v, guard);
        }
    }
};

struct ChannelsForward : BatchNormForward {
    ChannelsForward() : BatchNormForward(false) {}
    Func block_sum{"block_sum"}, block_mean{"block_mean"}, block_sums{"block_sums"},
        of_block{"of_block"};
    Func total{"total"}, middle{"middle"}, sums{"sums"}, left{"left"}, nearest{"nearest"},
        spread{"spread"}, scale{"scale"}, shift{"shift"};
    Blocks blocks;

    void algorithm() override {
        blocks.define(size("r"));
        const Var b = blocks.b;
        const RDom all = blocks.all;
        const Expr element = blocks.in_block(x, c);
        block_sum(c, b) += element;
        block_mean(c, b) = block_sum(c, b) / blocks.count_of(b);
        const Expr d = strict_float(element - block_mean(c, b));
        block_sums(c, b) = Tuple(0_r, 0_r);
        block_sums(c, b) = Tuple(block_sums(c, b)[0] + d, block_sums(c, b)[1] + d * d);
        of_block(c, b) = Tuple(block_mean(c, b), block_sums(c, b)[0], block_sums(c, b)[1]);

        total(c) += of_block(c, all)[0] * blocks.count_of(all);
        middle(c) = total(c) / count();
        // Deviations from `middle` are those from the block's own mean and `off`.
        const Expr off = strict_float(of_block(c, all)[0] - middle(c));
        const Expr deviations = of_block(c, all)[1];
        const Expr many = blocks.count_of(all);
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + (deviations + off * many),
                        sums(c)[1] + (of_block(c, all)[2] + off * (2_r * deviations + off * many)));
        left(c) = sums(c)[0] / count();
        spread(c) = max(sums(c)[1] / count() - left(c) * left(c), 0_r);
        scale(c) = 1_r / sqrt(spread(c) + eps);
        shift(c) = left(c) * scale(c);
        y(c, n) = (strict_float(x(c, n) - middle(c)) * scale(c) - shift(c)) * gamma(c) + beta(c);
        nearest(c) = middle(c) + left(c);
        mean(c) = nearest(c);
        rest(c) = strict_float(middle(c) - nearest(c)) + left(c);
        variance(c) = spread(c);
    }
    void schedule(const Cpu &cpu) override {
        blocks.schedule(cpu, y, size("c"), {block_sum, block_mean, block_sums, of_block},
                        {total, middle, sums, left, nearest, spread, scale, shift},
                        {mean, rest, variance});
    }
};

struct ChannelsDx : BatchNormDx {
    ChannelsDx() : BatchNormDx(false) {}
    Func dy = input("dy");
    Func dx = output("dx"), dgamma = output("dgamma"), dbeta = output("dbeta");
    Func block_sums{"block_sums"}, of_block{"of_block"}, sums{"sums"}, scale{"scale"},
        shift{"shift"}, slope{"slope"}, bias{"bias"};
    Blocks blocks;

    void algorithm() override {
        blocks.define(size("r"));
        const Var b = blocks.b;
        const RDom all = blocks.all;
        scale(c) = 1_r / sqrt(variance(c) + eps);
        shift(c) = rest(c) * scale(c);
        auto normal = [&](const Expr &element) {
            return strict_float(element - mean(c)) * scale(c) - shift(c);
        };
        const Expr d = blocks.in_block(dy, c);
        block_sums(c, b) = Tuple(0_r, 0_r);
        block_sums(c, b) = Tuple(block_sums(c, b)[0] + d,
                                 block_sums(c, b)[1] + d * normal(blocks.in_block(x, c)));
        of_block(c, b) = Tuple(block_sums(c, b)[0], block_sums(c, b)[1]);
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + of_block(c, all)[0], sums(c)[1] + of_block(c, all)[1]);
        bias(c) = sums(c)[0] / count();
        slope(c) = sums(c)[1] / count();
        dx(c, n) = gamma(c) * scale(c) * ((dy(c, n) - bias(c)) - normal(x(c, n)) * slope(c));
        dgamma(c) = sums(c)[1];
        dbeta(c) = sums(c)[0];
    }
    void schedule(const Cpu &cpu) override {
        blocks.schedule(cpu, dx, size("c"), {block_sums, of_block},
                        {scale, shift, sums, bias, slope}, {dgamma, dbeta});
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ChannelsForward>(), ops.add<ChannelsDx>();
}

}  // namespace halyard
