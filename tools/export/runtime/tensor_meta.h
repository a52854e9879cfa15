// What is known of a tensor before a call.
#pragma once
#include "registry/tensor/dtype.h"
#include "registry/tensor/shape.h"

namespace halyard::host {

struct TensorMeta {
    DType dtype = DType::f32;
    Shape shape, strides;
};

}  // namespace halyard::host
