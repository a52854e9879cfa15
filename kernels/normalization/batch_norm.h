// The base of the kernels of batch_norm, group_norm and instance_norm, which are composed in
// primitives/composites/normalization/norms.cpp. Each of c channels is brought to mean 0 and
// variance 1. There is an op for each of two layouts: planes[n,c,s] of s pixels
// (batch_norm_nchw.cpp), and channels last, [r,c] (batch_norm_nhwc.cpp).
//
// The squares that are summed are those of deviations from the mean, so a mean much larger than the
// deviations costs no digits. The mean's own rounding error, which is the mean of x - mean, is an
// output too: `rest`, in the code the compensation. The compiler must not rewrite x - mean, so that
// expression is strict.
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard {

struct BatchNorm : Op {
    const bool planes;
    // `@` in the signature is replaced by the extents of a full tensor.
    BatchNorm(bool in_planes, const std::string &op, const std::string &signature)
        : Op(op, with_extents(signature, in_planes ? "[n,c,s]" : "[r,c]")), planes(in_planes) {
        internal = true;
        // One sample has a mean of 1e4 standard deviations: the difference of the mean of squares
        // and the square of the mean would have no correct digit.
        let("x_least", "c==2?10000:-2");
        conditions = {planes ? "n*s>0" : "r>0"};
        dtypes = {"f32,f32", "f16,f32", "bf16,f32", "f64,f64"};
        if (planes) {
            samples = {"n=1 c=1 s=1",   "n=2 c=3 s=7",  "n=3 c=5 s=64",  "n=5 c=2 s=37",
                       "n=1 c=2 s=131", "n=70 c=3 s=3", "n=2 c=1 s=1031"};
        } else {
            samples = {"r=1 c=1",   "r=5 c=7",    "r=64 c=16",  "r=65 c=33",
                       "r=200 c=2", "r=131 c=17", "r=1031 c=64"};
        }
        bench = {planes ? "n=32 c=64 s=3136" : "r=100352 c=64"};
    }
    static std::string with_extents(std::string s, const std::string &extents) {
        for (size_t at = 0; (at = s.find('@')) != std::string::npos;)
            s.replace(at, 1, extents);
        return s;
    }
    Expr eps = scalar("epsilon", 1e-5);
    Var s{"s"}, c{"c"}, n{"n"};

    Expr count() const {
        return planes ? math::real(size("n")) * math::real(size("s")) : math::real(size("r"));
    }
    std::vector<Var> full() const {
        return planes ? std::vector<Var>{s, c, n} : std::vector<Var>{c, n};
    }

    // For references: calls visit(index) for every element of a channel.
    template<class F> void each(const Problem &p, int64_t channel, F visit) const {
        if (planes) {
            for (int64_t i = 0; i < p["n"]; i++) {
                for (int64_t j = 0; j < p["s"]; j++)
                    visit(size_t((i * p["c"] + channel) * p["s"] + j));
            }
        } else {
            for (int64_t i = 0; i < p["r"]; i++)
                visit(size_t(i * p["c"] + channel));
        }
    }
};

// y = (x - mean) / sqrt(variance + epsilon) gamma + beta, where mean is the sum of the outputs mean
// and rest, and variance the biased one.
struct BatchNormForward : BatchNorm {
    explicit BatchNormForward(bool in_planes)
        : BatchNormForward(in_planes, in_planes ? "batch_norm_planes" : "batch_norm_channels",
                           "x@ gamma:U[c] beta:U[c] -> y@ mean:U[c] rest:U[c] variance:U[c]") {}
    BatchNormForward(bool in_planes, const std::string &op, const std::string &signature)
        : BatchNorm(in_planes, op, signature) {
        contract = {Contract::products, 5};
    }
    Func x = input("x"), gamma = input("gamma"), beta = input("beta");
    Func y = output("y");
    Func mean = output("mean"), compensation = output("rest"), variance = output("variance");

    // For references: returns y of the element at `index`, given the value of the norm.
    virtual double epilogue(Problem &, double value, size_t /*index*/) const { return value; }
    void reference(Problem &p) const override {
        for (auto &t : sig.outputs)
            p.abs_sum[t.name] = p(t.name);
        for (int64_t i = 0; i < p["c"]; i++) {
            // A double's rounding error would be as large as the f64 kernel's.
            long double sum = 0, squares = 0;
            double count = 0, abs_sum = 0, max_deviation = 0;
            each(p, i, [&](size_t at) {
                count++;
                sum += p("x").v[at];
                abs_sum += std::fabs(p("x").v[at]);
            });
            const long double exact_mean = sum / count;
            each(p, i, [&](size_t at) {
                const long double d = p("x").v[at] - exact_mean;
                squares += d * d;
                max_deviation = std::fmax(max_deviation, std::fabs(double(d)));
            });
            // Infinite if f32 overflows.
            const double overflow = abs_sum < 1e38 && squares < 1e37 ? 0 : INFINITY;
            const double exact_variance = double(squares) / count;
            const double scale = 1 / std::sqrt(exact_variance + p.real("epsilon"));
            const double gain = p("gamma")(i);
            const double offset = p("beta")(i);
            each(p, i, [&](size_t at) {
                const double value = double(p("x").v[at] - exact_mean) * scale * gain + offset;
                p("y").v[at] = epilogue(p, value, at);
                p.abs_sum["y"].v[at] = std::fabs(max_deviation * scale * gain) + std::fabs(offset) +
                                       overflow;
            });
            p("mean")(i) = double(exact_mean);
            p("rest")(i) = double(exact_mean - exact_mean);
            p("variance")(i) = exact_variance;
            p.abs_sum["mean"](i) = p.abs_sum["rest"](i) = abs_sum / count + overflow;
            p.abs_sum["variance"](i) = exact_variance + overflow;
        }
    }
};

// With normalized = (x - mean - rest) / sqrt(variance + epsilon):
// dx = gamma / sqrt(variance + epsilon) (dy - mean(dy) - normalized mean(dy normalized)),
// dgamma = sum of dy normalized, dbeta = sum of dy.
struct BatchNormDx : BatchNorm {
    explicit BatchNormDx(bool in_planes)
        : BatchNormDx(
              in_planes, in_planes ? "batch_norm_planes_dx" : "batch_norm_channels_dx",
              "x@ gamma:U[c] mean:U[c] rest:U[c] variance:U[c] dy@ -> dx@ dgamma:U[c] dbeta:U[c]") {
    }
    BatchNormDx(bool in_planes, const std::string &op, const std::string &signature)
        : BatchNorm(in_planes, op, signature) {
        contract = {Contract::products, 16};
        let("variance_least", "1");
    }
    Func x = input("x"), gamma = input("gamma"), mean = input("mean"), compensation = input("rest"),
         variance = input("variance");

    // For references: returns the gradient with respect to the norm's own result at `at`, which is
    // dy passed back through the epilogue.
    virtual double epilogue_gradient(Problem &p, size_t at) const { return p("dy").v[at]; }
    void reference(Problem &p) const override {
        for (auto &t : sig.outputs)
            p.abs_sum[t.name] = p(t.name);
        for (int64_t i = 0; i < p["c"]; i++) {
            const double given_mean = p("mean")(i);
            const double given_rest = p("rest")(i);
            const double scale = 1 / std::sqrt(p("variance")(i) + p.real("epsilon"));
            const double gain = p("gamma")(i);
            double count = 0, sum = 0, dot = 0, abs_sum = 0, abs_dot = 0;
            auto normalized = [&](size_t at) {
                return (p("x").v[at] - given_mean - given_rest) * scale;
            };
            auto abs_normalized = [&](size_t at) {
                return (std::fabs(p("x").v[at] - given_mean) + std::fabs(given_rest)) * scale;
            };
            each(p, i, [&](size_t at) {
                const double d = epilogue_gradient(p, at);
                count++;
                sum += d;
                abs_sum += std::fabs(d);
                dot += d * normalized(at);
                abs_dot += std::fabs(d) * abs_normalized(at);
            });
            // Infinite if f32 overflows.
            const double overflow = abs_sum < 1e38 && abs_dot < 1e38 ? 0 : INFINITY;
            each(p, i, [&](size_t at) {
                const double d = epilogue_gradient(p, at);
                p("dx").v[at] = gain * scale * (d - sum / count - normalized(at) * dot / count);
                p.abs_sum["dx"].v[at] = std::fabs(gain * scale) *
                                            (std::fabs(d) + abs_sum / count +
                                             abs_normalized(at) * abs_dot / count) +
                                        overflow;
            });
            p("dgamma")(i) = dot;
            p("dbeta")(i) = sum;
            p.abs_sum["dgamma"](i) = abs_dot + overflow;
            p.abs_sum["dbeta"](i) = abs_sum + overflow;
        }
    }
};

}  // namespace halyard
