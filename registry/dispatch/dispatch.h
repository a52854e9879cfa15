// Dispatch: from tensors and attributes to the best kernel that takes them, and the call.
//
// A call is planned once per op, attributes, dtypes, shapes and strides; the plan is cached per
// thread, so a repeated call only allocates its outputs and runs. A plan knows every candidate it
// refused and why: registry/dispatch/explain.h.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Runs `op` on `in`, returns its outputs. Throws ShapeError, DTypeError, AttrError or DispatchError
// before anything is written; a zero-size output is returned without running a kernel.
std::vector<Tensor> dispatch(const RegisteredOp &op, std::span<const Tensor> in,
                             const Attrs &attrs);
// of ops with one output
Tensor dispatch1(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs);

// Writes into tensors the caller has (shapes, dtypes as dispatch() would return them). They may be
// inputs too where op is elementwise, of several outputs each over the input it is called after;
// other overlaps are refused with ShapeError.
void dispatch_into(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
                   std::span<const Tensor> out);

// While it lives, this thread's calls use only kernels of this ISA and variant ("" = any). For
// tests and benches.
class Force {
public:
    Force(Isa isa, std::string variant, std::string backend = "cpu");
    ~Force();
    Force(const Force &) = delete;
    Force &operator=(const Force &) = delete;
    struct Choice {
        Isa isa;
        std::string variant, backend;
    };
    static const Choice *current();

private:
    Choice choice_;
    const Choice *before_;
};

// Plans become stale when kernels are added, or the device or the ISA limit changes.
void invalidate_plans();

}  // namespace halyard
