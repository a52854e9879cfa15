// Call: an op as it is typed: names, attributes, inputs. Shared by the subcommands.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/op/signature.h"

namespace halyard::bench {

// "axis=1" as ("axis", "1"). Throws AttrError when there is no '=' or nothing before it.
std::pair<std::string, std::string> assignment(const std::string &op, const std::string &text);

// From "axis=1", "stride=2,2". Throws AttrError, also on an attribute given twice.
Attrs attrs_from(const OpRecord &op, const std::vector<std::string> &texts);

// What was given for each of `specs`: "x=value" by name, "x0=value" by place (where no tensor is
// named x0), a bare "value" for the first one still open. Throws AttrError for names that don't
// exist and for two values of one tensor; `what` names the option.
std::vector<std::optional<std::string>> values_by_tensor(const std::string &op, const char *what,
                                                         const std::vector<TensorSpec> &specs,
                                                         const std::vector<std::string> &texts);

// Extents of "2x3x8x8"; "scalar" is rank 0. Throws ShapeError.
Shape shape_from(const std::string &op, const std::string &text);

// One of the op's sets of dtypes, given by it or its beginning ("f32" for "f32,i32"); empty = the
// first. Throws DTypeError when the op has no such set.
std::string dtype_set(const OpRecord &op, const std::string &given);

// A dtype for every input of `op` (for the outputs too, behind them): concrete ones as the
// signature says, type variables from `set`, as dtype_set() reads it.
std::vector<DType> dtypes_from(const RegisteredOp &op, const std::string &set);

// Inputs in which `op` has a gradient: by a gradient op, composed of other ops, or through the ops
// it is composed of.
std::vector<size_t> differentiable_inputs(const RegisteredOp &op);

// Returns the present name of a variant of the op, which `variant` may call by an earlier one; "" for
// "". Throws AttrError if the op has no such variant.
std::string variant_called(const OpRecord &op, const std::string &variant);

// The op of that name. Throws DispatchError when there is none, and when it has no kernels of its
// own.
const RegisteredOp &op_with_kernels(const std::string &name);

// --device, --isa and --variant, together. Throws DispatchError for an ISA this CPU lacks or the
// device doesn't know.
class Target {
public:
    Target(const std::string &device, const std::string &isa, const std::string &variant);

private:
    std::optional<Force> force_;
};

}  // namespace halyard::bench
