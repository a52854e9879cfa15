// The dimensions of a call of a composite op, for compositions whose shapes its signature can
// infer.
#pragma once
#include <span>

#include "registry/op/attrs.h"
#include "registry/op/signature.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Returns every extent, attribute and let of the call, by name. Throws AttrError or ShapeError if
// inputs or attributes don't fit the record.
Dims facts_of(std::span<const Tensor> in, const Attrs &attrs);

}  // namespace halyard
