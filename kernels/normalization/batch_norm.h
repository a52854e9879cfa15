// What batch_norm, group_norm and instance_norm are made of (primitives/composites/norm.cpp): each
// of c channels brought to mean 0 and variance 1. Two layouts, as two ops: planes[n,c,s] of s
// pixels (batch_norm_planes.cpp), and channels last, [r,c] (batch_norm.cpp).
//
// Sums of squares are those of deviations from a mean, so a mean much larger than they are costs no
// digits, and what the mean's own rounding lost, the mean of x - mean, is kept beside it as `rest`.
// x - mean must not be taken apart, so it is strict.
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard {

struct BatchNorm : Op {
    const bool planes;
    // `@` in the signature stands for the extents of a full tensor.
    BatchNorm(bool in_planes, const std::string &op, const std::string &signature)
        : Op(op, with_extents(signature, in_planes ? "[n,c,s]" : "[r,c]")), planes(in_planes) {
        internal = true;
        // a mean of 1e4 standard deviations: a sum of squares less their mean's has no digit left
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

    // For references: visit(place) for every element of a channel.
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

// y = (x - mean) / sqrt(variance + epsilon) gamma + beta. The mean is mean + rest, the variance the
// biased one.
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
    Func mean = output("mean"), rest = output("rest"), variance = output("variance");

    // What follows, of an element of (y, its place).
    virtual double followed(Problem &, double value, size_t) const { return value; }
    void reference(Problem &p) const override {
        for (auto &t : sig.outputs)
            p.abs_sum[t.name] = p(t.name);
        for (int64_t i = 0; i < p["c"]; i++) {
            long double sum = 0, squares = 0;  // a double's own error would show beside f64's
            double count = 0, size = 0, most = 0;
            each(p, i, [&](size_t at) {
                count++;
                sum += p("x").v[at];
                size += std::fabs(p("x").v[at]);
            });
            const long double middle = sum / count;
            each(p, i, [&](size_t at) {
                const long double d = p("x").v[at] - middle;
                squares += d * d;
                most = std::fmax(most, std::fabs(double(d)));
            });
            // where f32 overflows
            const double lost = size < 1e38 && squares < 1e37 ? 0 : INFINITY;
            const double spread = double(squares) / count;
            const double scale = 1 / std::sqrt(spread + p.real("epsilon"));
            const double gain = p("gamma")(i);
            const double offset = p("beta")(i);
            each(p, i, [&](size_t at) {
                p("y").v[at] = followed(p, double(p("x").v[at] - middle) * scale * gain + offset,
                                        at);
                p.abs_sum["y"].v[at] = std::fabs(most * scale * gain) + std::fabs(offset) + lost;
            });
            p("mean")(i) = double(middle);
            p("rest")(i) = double(middle - middle);
            p("variance")(i) = spread;
            p.abs_sum["mean"](i) = p.abs_sum["rest"](i) = size / count + lost;
            p.abs_sum["variance"](i) = spread + lost;
        }
    }
};

// dx = gamma / sqrt(variance + epsilon) (dy - mean dy - normal mean(dy normal)), dgamma = sum dy
// normal, dbeta = sum dy, where normal is x - mean - rest over the root.
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
    Func x = input("x"), gamma = input("gamma"), mean = input("mean"), rest = input("rest"),
         variance = input("variance");

    // The gradient that reaches the norm's own result, at a place.
    virtual double before(Problem &p, size_t at) const { return p("dy").v[at]; }
    void reference(Problem &p) const override {
        for (auto &t : sig.outputs)
            p.abs_sum[t.name] = p(t.name);
        for (int64_t i = 0; i < p["c"]; i++) {
            const double middle = p("mean")(i);
            const double left = p("rest")(i);
            const double scale = 1 / std::sqrt(p("variance")(i) + p.real("epsilon"));
            const double gain = p("gamma")(i);
            double count = 0, sum = 0, dot = 0, sum_size = 0, dot_size = 0;
            auto normal = [&](size_t at) { return (p("x").v[at] - middle - left) * scale; };
            auto size_of = [&](size_t at) {
                return (std::fabs(p("x").v[at] - middle) + std::fabs(left)) * scale;
            };
            each(p, i, [&](size_t at) {
                const double d = before(p, at);
                count++;
                sum += d;
                sum_size += std::fabs(d);
                dot += d * normal(at);
                dot_size += std::fabs(d) * size_of(at);
            });
            // where f32 overflows
            const double lost = sum_size < 1e38 && dot_size < 1e38 ? 0 : INFINITY;
            each(p, i, [&](size_t at) {
                const double d = before(p, at);
                p("dx").v[at] = gain * scale * (d - sum / count - normal(at) * dot / count);
                p.abs_sum["dx"].v[at] = std::fabs(gain * scale) * (std::fabs(d) + sum_size / count +
                                                                   size_of(at) * dot_size / count) +
                                        lost;
            });
            p("dgamma")(i) = dot;
            p("dbeta")(i) = sum;
            p.abs_sum["dgamma"](i) = dot_size + lost;
            p.abs_sum["dbeta"](i) = sum_size + lost;
        }
    }
};

}  // namespace halyard
