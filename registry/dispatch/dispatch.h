// Dispatch: chooses the best kernel for tensors and attributes, and calls it.
//
// A call is planned once per op, attributes, dtypes, shapes and strides. The plan is cached per
// thread, so a repeated call only allocates its outputs and runs. registry/dispatch/explain.h lists
// every candidate of a plan with the reason for its rejection.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "registry/dispatch/force.h"
#include "registry/dispatch/plan_generation.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Runs `op` on `in` and returns its outputs. Throws ShapeError, DTypeError, AttrError or
// DispatchError before anything is written. An empty output is returned without running a kernel.
std::vector<Tensor> dispatch(const RegisteredOp &op, std::span<const Tensor> in,
                             const Attrs &attrs);
// Returns the output of an op that has one.
Tensor dispatch1(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs);

// Writes into the caller's tensors, which have the shapes and dtypes that dispatch() would return.
// An elementwise op may write over an input; of several outputs, x_out may write over input x only.
// Throws ShapeError on any other overlap.
void dispatch_into(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
                   std::span<const Tensor> out);

}  // namespace halyard
