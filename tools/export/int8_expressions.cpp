#include "tools/export/int8_expressions.h"

#include <cstdlib>

#include "tools/c99/elements.h"

namespace halyard::exporting {

std::string minus(int32_t number) {
    if (number == 0) return "";
    return (number < 0 ? " + " : " - ") + std::to_string(std::abs(number));
}

std::string requantized(const Requantize &to, const std::string &product) {
    std::string s = "hy_requantized(" + product;
    for (const int32_t number : {to.shift, to.zero, to.low, to.high})
        s += ", " + std::to_string(number);
    return s + ")";
}

std::string shortcut(const Int8Step &s, const Int8Network &network, const std::string &at) {
    if (s.z < 0) return "";
    const int32_t zero = network.tensors.at(s.z).zero;
    return " + (int64_t)(z[" + at + "]" + minus(zero) + ") * " +
           std::to_string(s.to_y.multiplier_of_z);
}

std::string quantize_text(const Int8Tensor &to, const std::string &x) {
    const auto reciprocal = float(1 / double(to.scale));
    return "hy_i8_of_f32(" + x + ", " + c99::number_of(reciprocal, DType::f32) + ", " +
           std::to_string(to.zero) + ")";
}

}  // namespace halyard::exporting
