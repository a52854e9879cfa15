// The bytes of a halide_buffer_t's elements, as rows without gaps.
#pragma once
#include <cstddef>
#include <functional>

#include "HalideRuntime.h"

namespace halyard::gpu {

// Returns the bytes from the first element to the end of the last; 0 without elements. Strides are
// not negative.
size_t span_of(const halide_buffer_t &buffer);

// Calls f(offset, bytes) for the rows that hold the elements, at offsets in bytes behind the first
// of them. Other bytes of the span belong to something else.
void for_each_row(const halide_buffer_t &buffer, const std::function<void(size_t, size_t)> &f);

}  // namespace halyard::gpu
