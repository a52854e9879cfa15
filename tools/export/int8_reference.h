// What a network in integers computes: the definition that the exported C code is compared with.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Returns the input's elements as integers: x / scale, which is x times the scale's reciprocal in
// f32, rounded to the nearest, of two the one away from 0, plus zero, within i8. NaN is -128.
std::vector<int8_t> quantized(const Int8Tensor &to, const float *x);

// Returns the output for an input, element by element as int8_network.h defines it. May be called
// on several threads.
std::vector<int8_t> reference_of(const Int8Network &network, const std::vector<int8_t> &input);

// Returns (q - zero) * scale of each element, in f32.
std::vector<float> dequantized(const Int8Tensor &from, const std::vector<int8_t> &q);

}  // namespace halyard::exporting
