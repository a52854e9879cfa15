#include "nn/activation.h"

#include <map>

#include "nn/sizes.h"
#include "primitives/composites/concat.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/channels.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/softmax.h"
#include "primitives/ops/unary.h"

namespace halyard::nn {

ReLU::ReLU() : Activation(F::relu) {}
ReLU6::ReLU6() : Activation(F::relu6) {}
Sigmoid::Sigmoid() : Activation(F::sigmoid) {}
Tanh::Tanh() : Activation(F::tanh) {}
SiLU::SiLU() : Activation(F::silu) {}
SeLU::SeLU() : Activation(F::selu) {}
Mish::Mish() : Activation(F::mish) {}
HSwish::HSwish() : Activation(F::hard_swish) {}
HSigmoid::HSigmoid() : Activation(F::hard_sigmoid) {}
LogSigmoid::LogSigmoid() : Activation(F::logsigmoid) {}
Softsign::Softsign() : Activation(F::softsign) {}
Softplus::Softplus() : Activation(F::softplus) {}
FastGelu::FastGelu() : Activation(F::fast_gelu) {}
Tanhshrink::Tanhshrink() : Activation([](const Tensor &x) { return x - F::tanh(x); }) {}
GELU::GELU(bool approximate) : Activation(approximate ? F::gelu_tanh : F::gelu) {}
ELU::ELU(double alpha) : Activation([alpha](const Tensor &x) { return F::elu(x, alpha); }) {}
CELU::CELU(double alpha) : Activation([alpha](const Tensor &x) { return F::celu(x, alpha); }) {}
LeakyReLU::LeakyReLU(double alpha)
    : Activation([alpha](const Tensor &x) { return F::leaky_relu(x, alpha); }) {}
Hardtanh::Hardtanh(double min_val, double max_val)
    : Activation([min_val, max_val](const Tensor &x) { return F::hardtanh(x, min_val, max_val); }) {
}
HShrink::HShrink(double lambd)
    : Activation([lambd](const Tensor &x) { return F::hardshrink(x, lambd); }) {}
SoftShrink::SoftShrink(double lambd)
    : Activation([lambd](const Tensor &x) { return F::softshrink(x, lambd); }) {}
Threshold::Threshold(double threshold, double value)
    : Activation(
          [threshold, value](const Tensor &x) { return F::threshold(x, threshold, value); }) {}
Softmax::Softmax(int64_t axis)
    : Activation([axis](const Tensor &x) { return F::softmax(x, axis); }) {}
LogSoftmax::LogSoftmax(int64_t axis)
    : Activation([axis](const Tensor &x) { return F::log_softmax(x, axis); }) {}
Softmin::Softmin(int64_t axis)
    : Activation([axis](const Tensor &x) { return F::softmax(-x, axis); }) {}
Softmax2d::Softmax2d() : Activation([](const Tensor &x) { return F::softmax(x, 1); }) {}
GLU::GLU(int64_t axis)
    : Activation([axis](const Tensor &x) {
          const std::vector<Tensor> halves = F::split(x, int(axis), 2);
          return halves[0] * F::sigmoid(halves[1]);
      }) {}

PReLU::PReLU(int64_t channel, const Initializer &init) {
    check_min("PReLU", "channel", channel, 1);
    w = parameter("w", initializer(init, {channel}));
}

Tensor PReLU::construct(const Tensor &x) const {
    return F::prelu(x, computed(w));
}

AnyCell get_activation(const std::string &name) {
    using Make = AnyCell (*)();
    static const std::map<std::string, Make> known = {
        {"celu", [] { return AnyCell(CELU()); }},
        {"elu", [] { return AnyCell(ELU()); }},
        {"fast_gelu", [] { return AnyCell(FastGelu()); }},
        {"gelu", [] { return AnyCell(GELU()); }},
        {"glu", [] { return AnyCell(GLU()); }},
        {"hardtanh", [] { return AnyCell(Hardtanh()); }},
        {"hshrink", [] { return AnyCell(HShrink()); }},
        {"hsigmoid", [] { return AnyCell(HSigmoid()); }},
        {"hswish", [] { return AnyCell(HSwish()); }},
        {"leakyrelu", [] { return AnyCell(LeakyReLU()); }},
        {"logsigmoid", [] { return AnyCell(LogSigmoid()); }},
        {"logsoftmax", [] { return AnyCell(LogSoftmax()); }},
        {"mish", [] { return AnyCell(Mish()); }},
        {"prelu", [] { return AnyCell(PReLU()); }},
        {"relu", [] { return AnyCell(ReLU()); }},
        {"relu6", [] { return AnyCell(ReLU6()); }},
        {"selu", [] { return AnyCell(SeLU()); }},
        {"sigmoid", [] { return AnyCell(Sigmoid()); }},
        {"silu", [] { return AnyCell(SiLU()); }},
        {"softmax", [] { return AnyCell(Softmax()); }},
        {"softmax2d", [] { return AnyCell(Softmax2d()); }},
        {"softmin", [] { return AnyCell(Softmin()); }},
        {"softplus", [] { return AnyCell(Softplus()); }},
        {"softshrink", [] { return AnyCell(SoftShrink()); }},
        {"softsign", [] { return AnyCell(Softsign()); }},
        {"tanh", [] { return AnyCell(Tanh()); }},
        {"tanhshrink", [] { return AnyCell(Tanhshrink()); }},
    };
    const auto at = known.find(name);
    if (at != known.end()) return at->second();
    std::string names;
    for (const auto &[n, make] : known)
        names += (names.empty() ? "" : ", ") + n;
    throw AttrError("activation", "name is " + name + ", expected one of " + names);
}

}  // namespace halyard::nn
