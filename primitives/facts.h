// What the record of a composite op says of one call, for compositions whose shapes its signature
// can tell.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

// Every extent, attribute and let of the call, by name. Throws AttrError or ShapeError where inputs
// or attributes don't fit the record.
Dims facts_of(std::span<const Tensor> in, const Attrs &attrs);

}  // namespace halyard
