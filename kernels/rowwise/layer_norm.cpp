// What layer_norm and rms_norm are made of (primitives/composites/norm.cpp): rows of c elements,
// brought to mean 0 (layer_norm's) and mean square 1.
//
// Where a row's mean is large beside the deviations from it, its rounding shows in all of them. So
// what it lost, the mean of x - mean, is summed beside the squares and taken off again: the
// corrected two-pass algorithm (Chan, Golub, LeVeque: "Algorithms for computing the sample
// variance", The American Statistician 37, 1983). x - mean must not be taken apart, so it is
// strict.
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
        // a mean of 1e4 standard deviations: a sum of squares less their mean's has no digit left
        let("x_least", "c==53?10000:-2");
    }
    Expr eps = scalar("epsilon", 1e-6);
    Func total{"total"}, mean{"mean"}, deviations{"deviations"}, sums{"sums"}, rest{"rest"},
        scale{"scale"}, shift{"shift"};

    Expr deviation(const Func &x, const Expr &at, const Expr &row) const {
        return centred ? deviations(at, row) : x(at, row);
    }
    Expr normal(const Func &x, const Expr &at, const Expr &row) const {
        return centred ? deviation(x, at, row) * scale(row) - shift(row) : x(at, row) * scale(row);
    }
    // Of each row: total, mean; sums of x - mean and of its squares; 1 / standard deviation; mean
    // of x - mean in standard deviations.
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
            rest(n) = sums(n)[0] / count;
            scale(n) = 1_r / sqrt((sums(n)[1] / count - rest(n) * rest(n)) + eps);
            shift(n) = rest(n) * scale(n);
            totals = {total, sums};
            per_row = {mean, scale, shift};
        } else {
            sums(n) += d * d;
            scale(n) = 1_r / sqrt(sums(n) / count + eps);
            totals = {sums};
            per_row = {scale};
        }
    }
    // For references.
    struct Row {
        long double mean = 0;  // a double's own error would show beside f64's
        // most: the largest |normal|; lost: infinite where sums leave the range of f32
        double scale = 0, most = 0, lost = 0;
    };
    Row row_of(Problem &p, int64_t i) const {
        const double count = double(p["c"]);
        long double sum = 0, squares = 0;
        double size = 0;
        Row row;
        for (int64_t j = 0; j < p["c"]; j++) {
            sum += p("x")(i, j);
            size += std::fabs(p("x")(i, j));
        }
        row.mean = centred ? sum / count : 0;
        for (int64_t j = 0; j < p["c"]; j++)
            squares += (p("x")(i, j) - row.mean) * (p("x")(i, j) - row.mean);
        row.scale = 1 / std::sqrt(double(squares) / count + p.real("epsilon"));
        for (int64_t j = 0; j < p["c"]; j++)
            row.most = std::fmax(row.most, std::fabs(normal(p, row, i, j)));
        // of what its rounding lost a rounding is left
        row.most += 1e-7 * std::fabs(double(row.mean)) * row.scale;
        row.lost = size < 1e38 && squares < 1e38 ? 0 : INFINITY;
        return row;
    }
    static double normal(Problem &p, const Row &row, int64_t i, int64_t j) {
        return double(p("x")(i, j) - row.mean) * row.scale;
    }
};

// y = normal gamma + beta
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
        y(c, n) = centred ? normal(x, c, n) * gamma(c) + beta(c) : normal(x, c, n) * gamma(c);
    }
    void reference(Problem &p) const override {
        Array &size = p.magnitude["y"] = Array(p("y").shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const Row row = row_of(p, i);
            for (int64_t j = 0; j < p["c"]; j++) {
                const double gain = p("gamma")(j);
                const double offset = centred ? p("beta")(j) : 0;
                p("y")(i, j) = normal(p, row, i, j) * gain + offset;
                size(i, j) = row.most * std::fabs(gain) + std::fabs(offset) + row.lost;
            }
        }
    }
};

// With g = gamma dy: dx = scale (g - mean g - normal mean(g normal)), layer_norm's; rms_norm's
// lacks mean g. dgamma = sum over rows of dy normal, dbeta = sum of dy.
struct RowNormDx : RowNorm {
    explicit RowNormDx(bool is_centred)
        : RowNorm(is_centred, "_dx", "x[n,c] gamma[c] dy[n,c]",
                  is_centred ? "dx[n,c] dgamma[c] dbeta[c]" : "dx[n,c] dgamma[c]") {
        contract = {Contract::products, 16};
        variants = {{"wide", "c>=lanes"}, {"short", ""}};
        // unscheduled, c^4 steps a row
        samples = {"n=1 c=1",   "n=3 c=7",   "n=2 c=64", "n=4 c=31",
                   "n=70 c=17", "n=33 c=10", "n=2 c=53", "n=2 c=71"};
    }
    Func x = input("x"), gamma = input("gamma"), dy = input("dy");
    Func dx = output("dx"), dgamma = output("dgamma");
    Func dbeta = centred ? output("dbeta") : Func();
    Func dots{"dots"}, of_rows{"of_rows"}, part{"part"}, parts{"parts"};  // parts: of `rows` rows
    Var b{"b"};
    RDom r, all;
    static constexpr int rows = 32;

    void algorithm() override {
        statistics(x);
        const Expr count = math::real(size("c"));
        const Expr g = dy(k, n) * gamma(k);
        r = RDom(0, rows);
        r.where(b * rows + r < size("n"));
        all = RDom(0, (size("n") + (rows - 1)) / rows);
        const Expr row = Halide::unsafe_promise_clamped(b * rows + r, 0, size("n") - 1);
        const Expr gain = dy(c, row) * normal(x, c, row);
        if (centred) {
            dots(n) = Tuple(0_r, 0_r);
            dots(n) = Tuple(dots(n)[0] + g, dots(n)[1] + g * normal(x, k, n));
            dx(c, n) = scale(n) * ((dy(c, n) * gamma(c) - dots(n)[0] / count) -
                                   normal(x, c, n) * (dots(n)[1] / count));
            of_rows(c, b) = Tuple(0_r, 0_r);
            of_rows(c, b) = Tuple(of_rows(c, b)[0] + gain, of_rows(c, b)[1] + dy(c, row));
            part(c, b) = Tuple(of_rows(c, b)[0], of_rows(c, b)[1]);
            parts(c) = Tuple(0_r, 0_r);
            parts(c) = Tuple(parts(c)[0] + part(c, all)[0], parts(c)[1] + part(c, all)[1]);
            dgamma(c) = parts(c)[0];
            dbeta(c) = parts(c)[1];
        } else {
            dots(n) += g * normal(x, k, n);
            dx(c, n) = scale(n) * (dy(c, n) * gamma(c) - normal(x, c, n) * (dots(n) / count));
            of_rows(c, b) += gain;
            part(c, b) = of_rows(c, b);
            parts(c) += part(c, all);
            dgamma(c) = parts(c);
        }
    }
    // A task is a block of rows, which stay in L2 from the loop of dx to that of the sums over
    // rows. With dots of 2 rows at a time it took 1.09 (layer_norm) and 1.14 times as long
    // (rms_norm) for 4096 x 1024, 0.95 and 0.93 for 1024 x 768 (1 thread, Zen 5). Rows that fill
    // all partial totals fold them without guards, which would store under masks what is loaded at
    // once: 0.74 and 0.84 of the time for 1024 x 768, 0.87 for 4096 x 1024. Sums over 2 or 4 rows
    // at once took 1.04 times as long (1024 x 768).
    void schedule(const Cpu &cpu) override {
        const bool wide = variant == "wide";
        const int v = cpu.lanes;
        Var row("row"), vec("vec"), lane("lane");
        dx.compute_root().split(n, b, row, rows, Tail::GuardWithIf).parallel(b);
        part.compute_root().parallel(b).compute_with(dx, b);
        of_rows.compute_at(part, b).update().reorder(c, r);
        parts.compute_root().update().reorder(c, all);
        for (Func &f : per_row)
            f.compute_at(dx, b);
        if (!wide) {
            for (Func &f : totals)
                f.compute_at(dx, b);
            dots.compute_at(dx, row);
            return;
        }
        for (Func f : {part, of_rows, parts, dgamma, dbeta})
            if (f.defined()) f.vectorize(c, v, Tail::GuardWithIf);
        dx.vectorize(c, v, Tail::GuardWithIf);
        of_rows.update().vectorize(c, v, Tail::GuardWithIf);
        parts.update().vectorize(c, v, Tail::GuardWithIf);
        for (Func &f : totals)
            reduce_in_lanes(f.compute_at(dx, b), k, n, v);
        reduce_in_lanes(dots.compute_at(dx, row), k, n, v);
        dx.specialize(size("c") >= chains * v);
    }
    void reference(Problem &p) const override {
        const double count = double(p["c"]);
        for (const char *name : {"dx", "dgamma", "dbeta"})
            if (p.tensors.count(name)) p.magnitude[name] = Array(p(name).shape);
        for (int64_t i = 0; i < p["n"]; i++) {
            const Row row = row_of(p, i);
            double sum = 0, dot = 0, sum_size = 0, dot_size = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const double g = p("dy")(i, j) * p("gamma")(j);
                const double normal_j = normal(p, row, i, j);
                sum += g;
                dot += g * normal_j;
                sum_size += std::fabs(g);
                dot_size += std::fabs(g) * row.most;
            }
            for (int64_t j = 0; j < p["c"]; j++) {
                const double d = p("dy")(i, j);
                const double normal_j = normal(p, row, i, j);
                p("dx")(i, j) = row.scale * (d * p("gamma")(j) - (centred ? sum / count : 0) -
                                             normal_j * dot / count);
                p.magnitude["dx"](i, j) = row.scale *
                                              (std::fabs(d * p("gamma")(j)) + sum_size / count +
                                               row.most * dot_size / count) +
                                          row.lost;
                p("dgamma")(j) += d * normal_j;
                p.magnitude["dgamma"](j) += std::fabs(d) * row.most + row.lost;
                if (centred) {
                    p("dbeta")(j) += d;
                    p.magnitude["dbeta"](j) += std::fabs(d);
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
