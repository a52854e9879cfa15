// Initialisers: how a parameter's first value is drawn. Names and defaults are MindSpore's.
//   fan_in of a weight [out, in, kernel...] is in * kernel, fan_out is out * kernel; of [out, in]
//   they are in and out.
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

// U(-scale, scale).
struct Uniform {
    double scale;
    explicit Uniform(double s = 0.07) : scale(s) {}
};

struct Normal {
    double sigma, mean;
    explicit Normal(double s = 0.01, double m = 0) : sigma(s), mean(m) {}
};

// N(mean, sigma) drawn again while outside [a, b]. The bounds are values, not multiples of sigma,
// as in MindSpore: TruncatedNormal(0.02) is not cut at two sigma.
struct TruncatedNormal {
    double sigma, mean, a, b;
    explicit TruncatedNormal(double s = 0.01, double m = 0, double low = -2, double high = 2)
        : sigma(s), mean(m), a(low), b(high) {}
};

// U(+-gain * sqrt(6 / (fan_in + fan_out))) and N(0, gain * sqrt(2 / (fan_in + fan_out))): Glorot
// and Bengio, 2010.
struct XavierUniform {
    double gain;
    explicit XavierUniform(double g = 1) : gain(g) {}
};
struct XavierNormal {
    double gain;
    explicit XavierNormal(double g = 1) : gain(g) {}
};

// U(+-gain * sqrt(3 / fan)) and N(0, gain / sqrt(fan)) with the gain of the nonlinearity: He,
// Zhang, Ren, Sun, 2015. gain: leaky_relu sqrt(2 / (1 + slope^2)), relu sqrt(2), tanh 5/3, sigmoid
// and linear 1.
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

// Of [rows, columns], columns being all dimensions but the first: rows that are orthogonal to each
// other and gain long, or, where there are more of them, such columns. From a normal matrix, every
// such one is as likely (Saxe, McClelland, Ganguli, 2014).
struct Orthogonal {
    double gain;
    explicit Orthogonal(double g = 1) : gain(g) {}
};

// What a layer's weight_init and bias_init may be: an initialiser, its name ("zeros", "ones",
// "normal", "uniform", "truncated_normal", "xavier_uniform", "xavier_normal", "he_uniform",
// "he_normal", "orthogonal"), a number, or a tensor of the right shape. Empty: the layer's own
// default.
class Initializer {
public:
    using Any = std::variant<std::monostate, Constant, Uniform, Normal, TruncatedNormal,
                             XavierUniform, XavierNormal, HeUniform, HeNormal, Orthogonal, Tensor>;
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
    Initializer(Tensor v) : any_(std::move(v)) {}
    Initializer(double v) : any_(Constant(v)) {}
    Initializer(int v) : any_(Constant(v)) {}
    Initializer(const char *name) : Initializer(std::string(name)) {}
    // "he_normal" or MindSpore's "HeNormal"; throws AttrError on an unknown name
    Initializer(const std::string &name);

    bool given() const { return !std::holds_alternative<std::monostate>(any_); }
    const Initializer &otherwise(const Initializer &fallback) const {
        return given() ? *this : fallback;
    }
    const Any &any() const { return any_; }

private:
    Any any_;
};

// A new dense tensor. Each call draws from the next random stream, so equal seeds and equal call
// orders give equal networks. Throws ShapeError (a tensor of another shape, a fan of fewer than two
// dimensions), AttrError (values out of range).
Tensor initializer(const Initializer &init, const Shape &shape, DType dtype = DType::f32);

}  // namespace halyard::nn
