// Activations: elementwise cells without parameters, and softmax.
#pragma once
#include <string>

#include "nn/cell.h"

namespace halyard::nn {

class ReLU : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
};
class Sigmoid : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
};
class Tanh : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
};
// the form of F::gelu
class GELU : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
};

class Softmax : public Cell {
public:
    explicit Softmax(int64_t axis = -1) : axis_(axis) {}
    Tensor construct(const Tensor &x) const override;

private:
    int64_t axis_;
};

class LogSoftmax : public Cell {
public:
    explicit LogSoftmax(int64_t axis = -1) : axis_(axis) {}
    Tensor construct(const Tensor &x) const override;

private:
    int64_t axis_;
};

// By name: "relu", "sigmoid", "tanh", "gelu", "softmax", "logsoftmax". Throws AttrError.
AnyCell get_activation(const std::string &name);

}  // namespace halyard::nn
