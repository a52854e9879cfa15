// Expressions in C99 that steps in integers have in common.
#pragma once
#include <string>

#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Returns " - 3", or " + 3" for a negative number; "" for 0.
std::string minus(int32_t number);

// Returns a float in C as an integer of the tensor.
std::string quantize_text(const Int8Tensor &to, const std::string &x);

// Returns y's element of a product, which is i64.
std::string requantized(const Requantize &to, const std::string &product);

// Returns the summand of a product that z's element `at` is; "" without z.
std::string shortcut(const Int8Step &step, const Int8Network &network, const std::string &at);

}  // namespace halyard::exporting
