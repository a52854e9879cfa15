// What the interfaces of an exported library (c_interface.cpp, onnxruntime.cpp, torch.cpp) read of
// its ops.
#pragma once
#include <string>
#include <vector>

#include "registry/dispatch/dispatch_to.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "tools/export/runtime/tensor_meta.h"

namespace halyard::host {

// Returns the registry. The first call adds the ops that were exported.
const Registry &ops();

// Returns the library's name, which is its domain or namespace in a host.
const std::string &library_name();

// Returns the op whose gradients this one computes, composed of other ops; null for other ops, also
// for gradients that have kernels.
const RegisteredOp *differentiated_by(const RegisteredOp &op);

// Returns the input of such a gradient op that has the shape of output k: b of db.
size_t input_like_output(const RegisteredOp &gradient, size_t k);

// As dispatch_to(), also for composites.
void run_to(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
            OutputAllocator &outputs);
// As dispatch_into(), also for composites.
void run_into(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
              std::span<const Tensor> out);

// Returns dtypes and shapes of the outputs of a call, which are dense. Throws what planning throws;
// a composite's own checks are made when it runs.
std::vector<TensorMeta> infer(const RegisteredOp &op, const std::vector<TensorMeta> &in,
                              const Attrs &attrs);

struct CallDTypes {
    std::vector<DType> inputs, outputs;
};

// Returns the dtypes of all tensors for one of the record's sets of dtypes ("f32,i32").
CallDTypes dtypes_of(const RegisteredOp &op, const std::string &set);

}  // namespace halyard::host
