// Argument: a tensor or a number, as elementwise primitives and operators take them.
#pragma once
#include <concepts>

#include "registry/tensor/tensor.h"

namespace halyard {

// A number takes the dtype of its partner.
struct Argument {
    Tensor tensor;
    double number = 0;
    bool is_integer = false;  // written as an integer: an integer partner keeps its dtype
    bool is_number = false;   // an undefined tensor is not a number
    Argument(const Tensor &t) : tensor(t) {}
    // a Parameter
    template<std::convertible_to<const Tensor &> T> Argument(const T &t)
        : tensor(static_cast<const Tensor &>(t)) {}
    template<std::floating_point T> Argument(T v) : number(v), is_number(true) {}
    template<std::integral T> Argument(T v)
        : number(static_cast<double>(v)), is_integer(true), is_number(true) {}
};

}  // namespace halyard
