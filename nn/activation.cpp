#include "nn/activation.h"

#include "primitives/ops.h"

namespace halyard::nn {

Tensor ReLU::construct(const Tensor &x) const { return F::relu(x); }
Tensor Sigmoid::construct(const Tensor &x) const { return F::sigmoid(x); }
Tensor Tanh::construct(const Tensor &x) const { return F::tanh(x); }
Tensor GELU::construct(const Tensor &x) const { return F::gelu(x); }
Tensor Softmax::construct(const Tensor &x) const { return F::softmax(x, axis_); }
Tensor LogSoftmax::construct(const Tensor &x) const { return F::log_softmax(x, axis_); }

AnyCell get_activation(const std::string &name) {
    if (name == "relu") return ReLU();
    if (name == "sigmoid") return Sigmoid();
    if (name == "tanh") return Tanh();
    if (name == "gelu") return GELU();
    if (name == "softmax") return Softmax();
    if (name == "logsoftmax") return LogSoftmax();
    throw AttrError("activation", "name is " + name + ", expected relu, sigmoid, tanh, gelu, softmax or logsoftmax");
}

}  // namespace halyard::nn
