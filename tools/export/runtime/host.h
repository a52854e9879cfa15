// What the interfaces of an exported library (c_interface.cpp, onnxruntime.cpp, torch.cpp) read of
// its ops.
#pragma once
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/shape.h"

namespace halyard::host {

// Returns the registry. The first call adds the ops that were exported.
const Registry &ops();

// Returns the library's name, which is its domain or namespace in a host.
const std::string &library_name();

struct TensorMeta {
    DType dtype = DType::f32;
    Shape shape, strides;
};

// Returns dtypes and shapes of the outputs of a call, which are dense. Throws what planning throws.
std::vector<TensorMeta> infer(const RegisteredOp &op, const std::vector<TensorMeta> &in,
                              const Attrs &attrs);

struct CallDTypes {
    std::vector<DType> inputs, outputs;
};

// Returns the dtypes of all tensors for one of the record's sets of dtypes ("f32,i32").
CallDTypes dtypes_of(const RegisteredOp &op, const std::string &set);

}  // namespace halyard::host
