// Initialisers draw the first value of a parameter. Names and defaults are MindSpore's. A weight of
// the shape [out, in, kernel...] has fan_in = in * kernel and fan_out = out * kernel.
#pragma once
#include <string>
#include <utility>
#include <variant>

#include "primitives/random.h"
#include "registry/tensor/tensor.h"

namespace halyard::nn {

struct Constant {
    double value;
    explicit Constant(double v) : value(v) {}
};
struct Zeros : Constant {
    Zeros() : Constant(0) {}
};
struct Ones : Constant {
    Ones() : Constant(1) {}
};

// Draws from U(-scale, scale).
struct Uniform {
    double scale;
    explicit Uniform(double s = 0.07) : scale(s) {}
};

// Draws from N(mean, sigma).
struct Normal {
    double sigma, mean;
    explicit Normal(double s = 0.01, double m = 0) : sigma(s), mean(m) {}
};

// Draws from N(mean, sigma) until the value is within [a, b]. As in MindSpore the bounds are
// values, not multiples of sigma: TruncatedNormal(0.02) is not cut at two sigma.
struct TruncatedNormal {
    double sigma, mean, a, b;
    explicit TruncatedNormal(double s = 0.01, double m = 0, double low = -2, double high = 2)
        : sigma(s), mean(m), a(low), b(high) {}
};

// Draw from U(-a, a) with a = gain * sqrt(6 / (fan_in + fan_out)), and from
// N(0, gain * sqrt(2 / (fan_in + fan_out))) (Glorot and Bengio, 2010).
struct XavierUniform {
    double gain;
    explicit XavierUniform(double g = 1) : gain(g) {}
};
struct XavierNormal {
    double gain;
    explicit XavierNormal(double g = 1) : gain(g) {}
};

// Draw from U(-a, a) with a = gain * sqrt(3 / fan), and from N(0, gain / sqrt(fan)) (He, Zhang,
// Ren, Sun, 2015). The gain is sqrt(2 / (1 + negative_slope^2)) for leaky_relu, sqrt(2) for relu,
// 5/3 for tanh, 1 for sigmoid and linear.
struct He {
    double negative_slope;
    std::string mode, nonlinearity;  // mode: "fan_in" or "fan_out"
    explicit He(double slope = 0, std::string m = "fan_in", std::string f = "leaky_relu")
        : negative_slope(slope), mode(std::move(m)), nonlinearity(std::move(f)) {}
};
struct HeUniform : He {
    using He::He;
};
struct HeNormal : He {
    using He::He;
};

// Draws a matrix [rows, columns], where columns are all dimensions but the first, with orthogonal
// rows of length `gain`. With more rows than columns the columns are orthogonal instead. All such
// matrices are equally likely (Saxe, McClelland, Ganguli, 2014).
struct Orthogonal {
    double gain;
    explicit Orthogonal(double g = 1) : gain(g) {}
};

// Draws values of the variance scale / n, where n is fan_in, fan_out or, for the mode "fan_avg",
// their mean. The distribution is "truncated_normal", which is cut at two standard deviations of
// the uncut one, "untruncated_normal" or "uniform".
struct VarianceScaling {
    double scale;
    std::string mode, distribution;
    explicit VarianceScaling(double s = 1, std::string m = "fan_in",
                             std::string d = "truncated_normal")
        : scale(s), mode(std::move(m)), distribution(std::move(d)) {}
};

// Makes a convolution of 1 to 3 dimensions pass its channels on unchanged, as many as it has
// outputs for, group by group: 1 at the middle of the filter from channel i to channel i.
struct Dirac {
    int64_t groups;
    explicit Dirac(int64_t g = 1) : groups(g) {}
};

// Makes a matrix with ones on its diagonal. It is MindSpore's Identity; nn::Identity is the layer.
struct IdentityMatrix {};

// Draws a matrix from N(0, sigma), and sets the share `sparsity` of each column to 0, rounded up.
struct Sparse {
    double sparsity, sigma;
    explicit Sparse(double zeros, double s = 0.01) : sparsity(zeros), sigma(s) {}
};

// The type of a layer's weight_init and bias_init: an initialiser, its name ("zeros", "ones",
// "normal", "uniform", "truncated_normal", "xavier_uniform", "xavier_normal", "he_uniform",
// "he_normal", "orthogonal", "variance_scaling", "dirac", "identity"), a number, or a tensor of the
// right shape. An empty one stands for the layer's own default.
class Initializer {
public:
    using Any = std::variant<std::monostate, Constant, Uniform, Normal, TruncatedNormal,
                             XavierUniform, XavierNormal, HeUniform, HeNormal, Orthogonal,
                             VarianceScaling, Dirac, IdentityMatrix, Sparse, Tensor>;
    Initializer() = default;
    Initializer(Constant v) : any_(v) {}
    Initializer(Uniform v) : any_(v) {}
    Initializer(Normal v) : any_(v) {}
    Initializer(TruncatedNormal v) : any_(v) {}
    Initializer(XavierUniform v) : any_(v) {}
    Initializer(XavierNormal v) : any_(v) {}
    Initializer(HeUniform v) : any_(std::move(v)) {}
    Initializer(HeNormal v) : any_(std::move(v)) {}
    Initializer(Orthogonal v) : any_(v) {}
    Initializer(VarianceScaling v) : any_(std::move(v)) {}
    Initializer(Dirac v) : any_(v) {}
    Initializer(IdentityMatrix v) : any_(v) {}
    Initializer(Sparse v) : any_(v) {}
    Initializer(Tensor v) : any_(std::move(v)) {}
    Initializer(double v) : any_(Constant(v)) {}
    Initializer(int v) : any_(Constant(v)) {}
    Initializer(const char *name) : Initializer(std::string(name)) {}
    // Takes "he_normal" or MindSpore's "HeNormal". Throws AttrError for an unknown name.
    Initializer(const std::string &name);

    bool given() const { return !std::holds_alternative<std::monostate>(any_); }
    const Initializer &otherwise(const Initializer &fallback) const {
        return given() ? *this : fallback;
    }
    const Any &any() const { return any_; }

private:
    Any any_;
};

// Returns a new contiguous tensor. Each call draws from the next random stream, so equal seeds and
// equal orders of calls give equal networks. Throws ShapeError if a given tensor has another shape
// or the initialiser needs another number of dimensions, AttrError for values out of range.
Tensor initializer(const Initializer &init, const Shape &shape, DType dtype = DType::f32);

}  // namespace halyard::nn
