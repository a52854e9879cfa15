// Elements of tensors as text in C99.
#pragma once
#include <set>
#include <string>

#include "graph/graph.h"
#include "registry/tensor/dtype.h"

namespace halyard::c99 {

// Returns the C type in which elements of a dtype are stored: 16-bit floats as their bits.
const char *c_type_of(DType t);

// Returns element i of an array as a constant of that type.
std::string element_text(const void *data, int64_t i, DType t);
// Returns a number as a constant of that type.
std::string number_of(double value, DType t);

// Returns "DECLARATION[3] = {1.0f, 2.0f, 3.0f};", in lines.
std::string array_text(const std::string &declaration, const void *data, int64_t elements, DType t);

// Returns the conversion of an element as the kit converts: floats saturate to integers, and all
// are rounded once. Adds the helpers that it calls.
std::string converted_text(const std::string &element, DType from, DType to,
                           std::set<std::string> &helpers);

}  // namespace halyard::c99
