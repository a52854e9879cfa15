// The kernels of layer_norm and rms_norm, which are composed in
// primitives/composites/normalization/norms.cpp. layer_norm brings each row of c elements to mean 0
// and variance 1, rms_norm to mean square 1.
//
// If a row's mean is large compared with the deviations from it, the mean's rounding error shows in
// all of them. So the kernels use the corrected two-pass algorithm (Chan, Golub, LeVeque:
// "Algorithms for computing the sample variance", The American Statistician 37, 1983): the mean of
// x - mean, which is the rounding error, is summed together with the squares and subtracted again.
// The compiler must not rewrite x - mean, so that expression is strict.
#include "kernels/rowwise/rows.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::strict_float;
using Halide::Tuple;

struct RowNorm : Rows {
    const bool centred;
    RowNorm(bool is_centred, const std::string &suffix, const std::string &inputs,
            const std::string &outputs)
        : Rows((is_centred ? "layer_norm_kernel" : "rms_norm_kernel") + suffix,
               inputs + " -> " + outputs),
          centred(is_centred) {
        internal = true;
        conditions = {"c>0"};
        // One sample has a mean of 1e4 standard deviations: the difference of the mean of squares
        // and the square of the mean would have no correct digit.
        let("x_least", "c==53?10000:-2");
    }
    Expr eps = scalar("epsilon", 1e-6);
    Func total{"total"}, mean{"mean"}, deviations{"deviations"}, sums{"sums"}, compensation{"rest"},
        scale{"scale"}, shift{"shift"};

    Expr deviation(const Func &x, const Expr &at, const Expr &row) const {
        return centred ? deviations(at, row) : x(at, row);
    }
    // Returns the element with mean 0 and variance 1, before gamma and beta.
    Expr normalized(const Func &x, const Expr &at, const Expr &row) const {
        return centred ? deviation(x, at, row) * scale(row) - shift(row) : x(at, row) * scale(row);
    }
    // Defines the statistics of each row: `mean`; `sums`, of x - mean and of its squares; `scale`,
    // 1 / standard deviation; `shift`, the mean's rounding error in standard deviations.
    void statistics(const Func &x) {
        k = RDom(0, size("c"));
        const Expr count = math::real(size("c"));
        total(n) += x(k, n);
        mean(n) = total(n) / count;
        deviations(c, n) = strict_float(x(c, n) - mean(n));
        const Expr d = deviation(x, k, n);
        if (centred) {
            sums(n) = Tuple(0_r, 0_r);
            sums(n) = Tuple(sums(n)[0] + d, sums(n)[1] + d * d);
            compensation(n) = sums(n)[0] / count;
            scale(n) = 1_r / sqrt((sums(n)[1] / count - compensation(n) * compensation(n)) + eps);
            shift(n) = compensation(n) * scale(n);
            row_reductions = {total, sums};
            row_scalars = {mean, scale, shift};
        } else {
            sums(n) += d * d;
            scale(n) = 1_r / sqrt(sums(n) / count + eps);
            row_reductions = {sums};
            row_scalars = {scale};
        }
    }
    // The statistics of a row, for references.
    struct Row {
        long double mean = 0;  // a double's rounding error would be as large as the f64 kernel's
        double scale = 0;
        double max_abs = 0;   // of the normalized elements, and of what the mean's rounding leaves
        double overflow = 0;  // infinite if a sum exceeds the range of f32, else 0
    };
    Row row_of(Problem &p, int64_t i) const {
        const double count = double(p["c"]);
        long double sum = 0, squares = 0;
        double abs_sum = 0;
        Row row;
        for (int64_t j = 0; j < p["c"]; j++) {
            sum += p("x")(i, j);
            abs_sum += std::fabs(p("x")(i, j));
        }
        row.mean = centred ? sum / count : 0;
        for (int64_t j = 0; j < p["c"]; j++)
            squares += (p("x")(i, j) - row.mean) * (p("x")(i, j) - row.mean);
        row.scale = 1 / std::sqrt(double(squares) / count + p.real("epsilon"));
        for (int64_t j = 0; j < p["c"]; j++)
            row.max_abs = std::fmax(row.max_abs, std::fabs(normalized(p, row, i, j)));
        // The compensation itself is rounded.
        row.max_abs += 1e-7 * std::fabs(double(row.mean)) * row.scale;
        row.overflow = abs_sum < 1e38 && squares < 1e38 ? 0 : INFINITY;
        return row;
    }
    static double normalized(Problem &p, const Row &row, int64_t i, int64_t j) {
        return double(p("x")(i, j) - row.mean) * row.scale;
    }
};

// y = normalized gamma + beta
struct RowNormForward : RowNorm {
    explicit RowNormForward(bool is_centred)
        : RowNorm(is_centred, "", is_centred ? "x[n,c] gamma[c] beta[c]" : "x[n,c] gamma[c]",
                  "y[n,c]") {
        contract = {Contract::products, 5};
    }
    Func x = input("x"), gamma = input("gamma");
    Func beta = centred ? input("beta") : Func();
    Func y = output("y");

    void algorithm() override {
        statistics(x);
        y(c, n) = centred ? normalized(x, c, n) * gamma(c) + beta(c)
                          : normalized(x, c, n) * gamma(c);
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const Row row = row_of(p, i);
            for (int64_t j = 0; j < p["c"]; j++) {
                const double gain = p("gamma")(j);
                const double offset = centred ? p("beta")(j) : 0;
                p("y")(i, j) = normalized(p, row, i, j) * gain + offset;
                abs_sum(i, j) = row.max_abs * std::fabs(gain) + std::fabs(offset) + row.overflow;
            }
        }
    }
};

// With g = gamma dy, layer_norm's dx = scale (g - mean(g) - normalized mean(g normalized)). For
// rms_norm mean(g) is absent. dgamma is the sum of dy normalized over the rows, dbeta the sum of
// dy.
struct RowNormDx : RowNorm {
    explicit RowNormDx(bool is_centred)
        : RowNorm(is_centred, "_dx", "x[n,c] gamma[c] dy[n,c]",
                  is_centred ? "dx[n,c] dgamma[c] dbeta[c]" : "dx[n,c] dgamma[c]") {
        contract = {Contract::products, 16};
        clear_variants();
        add({"wide", Dim("c") >= lanes, {.schedule = [this](const Cpu &cpu) {
                 schedule_dx(cpu, true);
             }}});
        add({"short", DimExpr::always(), {.schedule = [this](const Cpu &cpu) {
                 schedule_dx(cpu, false);
             }}});
        // Rows are short, because the unscheduled algorithm takes c^4 steps for each.
        samples = {"n=1 c=1",   "n=3 c=7",   "n=2 c=64", "n=4 c=31",
                   "n=70 c=17", "n=33 c=10", "n=2 c=53", "n=2 c=71"};
    }
    Func x = input("x"), gamma = input("gamma"), dy = input("dy");
    Func dx = output("dx"), dgamma = output("dgamma");
    Func dbeta = centred ? output("dbeta") : Func();
    Func dots{"dots"};
    // The sums over the rows of a block, their copies for all blocks, and the totals.
    Func block_sums{"of_rows"}, stored_sums{"part"}, total_sums{"parts"};
    Var b{"b"};
    RDom r, all;
    static constexpr int block_rows = 32;

    void algorithm() override {
        statistics(x);
        const Expr count = math::real(size("c"));
        const Expr g = dy(k, n) * gamma(k);
        r = RDom(0, block_rows);
        r.where(b * block_rows + r < size("n"));
        all = RDom(0, (size("n") + (block_rows - 1)) / block_rows);
        const Expr row = Halide::unsafe_promise_clamped(b * block_rows + r, 0, size("n") - 1);
        const Expr gain = dy(c, row) * normalized(x, c, row);
        if (centred) {
            dots(n) = Tuple(0_r, 0_r);
            dots(n) = Tuple(dots(n)[0] + g, dots(n)[1] + g * normalized(x, k, n));
            dx(c, n) = scale(n) * ((dy(c, n) * gamma(c) - dots(n)[0] / count) -
                                   normalized(x, c, n) * (dots(n)[1] / count));
            block_sums(c, b) = Tuple(0_r, 0_r);
            block_sums(c, b) = Tuple(block_sums(c, b)[0] + gain, block_sums(c, b)[1] + dy(c, row));
            stored_sums(c, b) = Tuple(block_sums(c, b)[0], block_sums(c, b)[1]);
            total_sums(c) = Tuple(0_r, 0_r);
            total_sums(c) = Tuple(total_sums(c)[0] + stored_sums(c, all)[0],
                                  total_sums(c)[1] + stored_sums(c, all)[1]);
            dgamma(c) = total_sums(c)[0];
            dbeta(c) = total_sums(c)[1];
        } else {
            dots(n) += g * normalized(x, k, n);
            dx(c, n) = scale(n) * (dy(c, n) * gamma(c) - normalized(x, c, n) * (dots(n) / count));
            block_sums(c, b) += gain;
            stored_sums(c, b) = block_sums(c, b);
            total_sums(c) += stored_sums(c, all);
            dgamma(c) = total_sums(c);
        }
    }
    // A task is a block of rows, which stay in L2 from the loop that computes dx to the loop that
    // sums over the rows. Both take one row at a time. Rows that fill all accumulators have loops
    // of their own without guards: a guarded fold would store under masks what is loaded again at
    // once. Measurements: docs/kernel_measurements.md, "layer_norm".
    void schedule_dx(const Cpu &cpu, bool wide) {
        const int v = cpu.lanes;
        Var row("row"), vec("vec"), lane("lane");
        dx.compute_root().split(n, b, row, block_rows, Tail::GuardWithIf).parallel(b);
        stored_sums.compute_root().parallel(b).compute_with(dx, b);
        block_sums.compute_at(stored_sums, b).update().reorder(c, r);
        total_sums.compute_root().update().reorder(c, all);
        for (Func &f : row_scalars)
            f.compute_at(dx, b);
        if (!wide) {
            for (Func &f : row_reductions)
                f.compute_at(dx, b);
            dots.compute_at(dx, row);
            return;
        }
        for (Func f : {stored_sums, block_sums, total_sums, dgamma, dbeta})
            if (f.defined()) f.vectorize(c, v, Tail::GuardWithIf);
        dx.vectorize(c, v, Tail::GuardWithIf);
        block_sums.update().vectorize(c, v, Tail::GuardWithIf);
        total_sums.update().vectorize(c, v, Tail::GuardWithIf);
        for (Func &f : row_reductions)
            reduce_in_lanes(f.compute_at(dx, b), k, n, v);
        reduce_in_lanes(dots.compute_at(dx, row), k, n, v);
        dx.specialize(size("c") >= accumulators * v);
    }
    void reference(Problem &p) const override {
        const double count = double(p["c"]);
        for (const char *name : {"dx", "dgamma", "dbeta"})
            if (p.tensors.count(name)) p.abs_sum[name] = Array(p(name).shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const Row row = row_of(p, i);
            double sum = 0, dot = 0, abs_sum = 0, abs_dot = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const double g = p("dy")(i, j) * p("gamma")(j);
                const double normalized_j = normalized(p, row, i, j);
                sum += g;
                dot += g * normalized_j;
                abs_sum += std::fabs(g);
                abs_dot += std::fabs(g) * row.max_abs;
            }
            for (int64_t j = 0; j < p["c"]; j++) {
                const double d = p("dy")(i, j);
                const double normalized_j = normalized(p, row, i, j);
                p("dx")(i, j) = row.scale * (d * p("gamma")(j) - (centred ? sum / count : 0) -
                                             normalized_j * dot / count);
                p.abs_sum["dx"](i, j) = row.scale *
                                            (std::fabs(d * p("gamma")(j)) + abs_sum / count +
                                             row.max_abs * abs_dot / count) +
                                        row.overflow;
                p("dgamma")(j) += d * normalized_j;
                p.abs_sum["dgamma"](j) += std::fabs(d) * row.max_abs + row.overflow;
                if (centred) {
                    p("dbeta")(j) += d;
                    p.abs_sum["dbeta"](j) += std::fabs(d);
                }
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    for (const bool centred : {true, false}) {
        ops.add<RowNormForward>(centred);
        ops.add<RowNormDx>(centred);
    }
}

}  // namespace halyard
