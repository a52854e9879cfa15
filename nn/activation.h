// Activations.
#pragma once
#include <functional>
#include <string>

#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// A cell without parameters: a function of one tensor.
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
struct FastGelu : Activation {
    FastGelu();
};  // x / (1 + exp(-1.702 x))
struct Tanhshrink : Activation {
    Tanhshrink();
};  // x - tanh(x)
struct GELU : Activation {
    explicit GELU(bool approximate = true);
};  // with tanh; else with erf
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
// value where x <= threshold
struct Threshold : Activation {
    Threshold(double threshold, double value);
};
struct Softmax : Activation {
    explicit Softmax(int64_t axis = -1);
};
struct LogSoftmax : Activation {
    explicit LogSoftmax(int64_t axis = -1);
};
struct Softmin : Activation {
    explicit Softmin(int64_t axis = -1);
};  // softmax of -x
// over the channels of x[n,c,h,w]
struct Softmax2d : Activation {
    Softmax2d();
};
// of the halves a, b along axis: a sigmoid(b)
struct GLU : Activation {
    explicit GLU(int64_t axis = -1);
};

// x where it is positive, else w x. w[channel] is a parameter; with several, one for each channel
// of x[n,channel,...].
class PReLU : public Cell {
public:
    explicit PReLU(int64_t channel = 1, const Initializer &w = 0.25);
    Tensor construct(const Tensor &x) const override;

    Parameter w;
};

// By MindSpore's name, with its defaults: "relu", "gelu", "leakyrelu", "hswish", ... Throws
// AttrError that lists them.
AnyCell get_activation(const std::string &name);

}  // namespace halyard::nn
