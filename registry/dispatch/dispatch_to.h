// Dispatch into memory of a host, which allocates it when the shapes are known.
#pragma once
#include <span>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

class OutputAllocator {
public:
    // Returns output k: a dense tensor of this shape and dtype that overlaps no input.
    virtual Tensor allocate(size_t k, const Shape &shape, DType dtype) = 0;

protected:
    ~OutputAllocator() = default;
};

// As dispatch() (registry/dispatch/dispatch.h), into outputs of the allocator, which is asked once
// for each, in order, after the call has been checked.
void dispatch_to(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
                 OutputAllocator &outputs);

}  // namespace halyard
