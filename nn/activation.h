// Activation layers. The formulas stand in the reference pages of the ops of the same names.
#pragma once
#include <functional>
#include <string>

#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// Applies a function of one tensor. It has no parameters.
class Activation : public Cell {
public:
    Tensor construct(const Tensor &x) const override { return f_(x); }

protected:
    explicit Activation(std::function<Tensor(const Tensor &)> f) : f_(std::move(f)) {}

private:
    std::function<Tensor(const Tensor &)> f_;
};
struct ReLU : Activation {
    ReLU();
};
struct ReLU6 : Activation {
    ReLU6();
};
struct Sigmoid : Activation {
    Sigmoid();
};
struct Tanh : Activation {
    Tanh();
};
struct SiLU : Activation {
    SiLU();
};
struct SeLU : Activation {
    SeLU();
};
struct Mish : Activation {
    Mish();
};
struct HSwish : Activation {
    HSwish();
};
struct HSigmoid : Activation {
    HSigmoid();
};
struct LogSigmoid : Activation {
    LogSigmoid();
};
struct Softsign : Activation {
    Softsign();
};
struct Softplus : Activation {
    Softplus();
};
// y = x / (1 + exp(-1.702 x))
struct FastGelu : Activation {
    FastGelu();
};
// y = x - tanh(x)
struct Tanhshrink : Activation {
    Tanhshrink();
};
// With `approximate` the formula uses tanh, otherwise erf.
struct GELU : Activation {
    explicit GELU(bool approximate = true);
};
struct ELU : Activation {
    explicit ELU(double alpha = 1);
};
struct CELU : Activation {
    explicit CELU(double alpha = 1);
};
struct LeakyReLU : Activation {
    explicit LeakyReLU(double alpha = 0.2);
};
struct Hardtanh : Activation {
    Hardtanh(double min_val = -1, double max_val = 1);
};
struct HShrink : Activation {
    explicit HShrink(double lambd = 0.5);
};
struct SoftShrink : Activation {
    explicit SoftShrink(double lambd = 0.5);
};
// y = x where x > threshold, else value
struct Threshold : Activation {
    Threshold(double threshold, double value);
};
struct Softmax : Activation {
    explicit Softmax(int64_t axis = -1);
};
struct LogSoftmax : Activation {
    explicit LogSoftmax(int64_t axis = -1);
};
// y = softmax(-x)
struct Softmin : Activation {
    explicit Softmin(int64_t axis = -1);
};
// Computes softmax over the channels of x[n,c,h,w].
struct Softmax2d : Activation {
    Softmax2d();
};
// y = a * sigmoid(b), where a and b are the halves of x along `axis`
struct GLU : Activation {
    explicit GLU(int64_t axis = -1);
};

// y = x where x > 0, else w * x. The parameter is w[channel]: one number for all of x, or one for
// each channel of x[n,channel,...].
class PReLU : public Cell {
public:
    explicit PReLU(int64_t channel = 1, const Initializer &w = 0.25);
    Tensor construct(const Tensor &x) const override;

    Parameter w;
};

// Returns the activation that MindSpore calls `name`, with MindSpore's defaults: "relu", "gelu",
// "leakyrelu", "hswish", ... Throws AttrError with the list of names for any other.
AnyCell get_activation(const std::string &name);

}  // namespace halyard::nn
