// batch_norm's kernels for tensors whose channels are last, [r,c].
//
// The statistics of blocks of `block_rows` rows are computed first, each block read twice while it
// is in the cache. They are combined by the formulas of Chan, Golub and LeVeque ("Updating formulae
// and a pairwise algorithm for computing sample variances", 1979).
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

// The division of the rows into blocks. k runs over the rows of block b, `all` over the blocks.
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
    // Returns element k of block b.
    Expr in_block(const Func &x, const Var &c) const {
        return x(c, Halide::unsafe_promise_clamped(b * block_rows + k, 0, rows - 1));
    }

    // Schedules the sums of blocks, then the sums of channels, then y by rows. The vectors run
    // along c.
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
            // Runs of blocks: a sum over more than a thousand blocks, one after another, would lose
            // a digit.
            RVar runs, run;
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
    Func total{"total"}, rounded_mean{"middle"}, sums{"sums"}, residual{"left"},
        nearest_mean{"nearest"}, channel_variance{"spread"}, scale{"scale"}, shift{"shift"};
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
        rounded_mean(c) = total(c) / count();
        // A deviation from the channel's mean is that from the block's mean plus `offset`.
        const Expr offset = strict_float(of_block(c, all)[0] - rounded_mean(c));
        const Expr deviations = of_block(c, all)[1];
        const Expr block_count = blocks.count_of(all);
        sums(c) = Tuple(0_r, 0_r);
        sums(c) = Tuple(sums(c)[0] + (deviations + offset * block_count),
                        sums(c)[1] + (of_block(c, all)[2] +
                                      offset * (2_r * deviations + offset * block_count)));
        residual(c) = sums(c)[0] / count();
        channel_variance(c) = max(sums(c)[1] / count() - residual(c) * residual(c), 0_r);
        scale(c) = 1_r / sqrt(channel_variance(c) + eps);
        shift(c) = residual(c) * scale(c);
        y(c, n) = (strict_float(x(c, n) - rounded_mean(c)) * scale(c) - shift(c)) * gamma(c) +
                  beta(c);
        nearest_mean(c) = rounded_mean(c) + residual(c);
        mean(c) = nearest_mean(c);
        compensation(c) = strict_float(rounded_mean(c) - nearest_mean(c)) + residual(c);
        variance(c) = channel_variance(c);
    }
    void schedule(const Cpu &cpu) override {
        blocks.schedule(
            cpu, y, size("c"), {block_sum, block_mean, block_sums, of_block},
            {total, rounded_mean, sums, residual, nearest_mean, channel_variance, scale, shift},
            {mean, compensation, variance});
    }
};

struct ChannelsDx : BatchNormDx {
    ChannelsDx() : BatchNormDx(false) {}
    Func dy = input("dy");
    Func dx = output("dx"), dgamma = output("dgamma"), dbeta = output("dbeta");
    Func block_sums{"block_sums"}, of_block{"of_block"}, sums{"sums"}, scale{"scale"},
        shift{"shift"}, projection{"slope"}, mean_dy{"bias"};
    Blocks blocks;

    void algorithm() override {
        blocks.define(size("r"));
        const Var b = blocks.b;
        const RDom all = blocks.all;
        scale(c) = 1_r / sqrt(variance(c) + eps);
        shift(c) = compensation(c) * scale(c);
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
        mean_dy(c) = sums(c)[0] / count();
        projection(c) = sums(c)[1] / count();
        dx(c, n) = gamma(c) * scale(c) *
                   ((dy(c, n) - mean_dy(c)) - normal(x(c, n)) * projection(c));
        dgamma(c) = sums(c)[1];
        dbeta(c) = sums(c)[0];
    }
    void schedule(const Cpu &cpu) override {
        blocks.schedule(cpu, dx, size("c"), {block_sums, of_block},
                        {scale, shift, sums, mean_dy, projection}, {dgamma, dbeta});
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ChannelsForward>();
    ops.add<ChannelsDx>();
}

}  // namespace halyard
